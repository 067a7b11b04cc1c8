"""Measures Windlass beside the raw floor and other queues; see docs/performance.md."""
