"""Processes that act: they enqueue and they work, one system each, and are told what to do over a pipe."""
