"""What is measured: Windlass, the floor under it, and the peers beside it."""
