"""The workloads; one module each, listed in the registry."""
