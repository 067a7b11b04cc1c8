"""Cluster jobs in a module of their own, where a child process can find them."""

import os

from windlass import Windlass

app = Windlass("postgresql:///replaced_by_the_test")


@app.cluster_job(isolation="process")
def child_pid() -> int:
    return os.getpid()
