"""`./run demo`: jobs that survive, shown in less than a minute on a temporary PostgreSQL."""
