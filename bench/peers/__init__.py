"""Other queues, each in an environment of its own; their drivers speak the same protocol."""
