"""The part of a node that runs handlers."""
