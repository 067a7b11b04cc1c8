"""Results as the bench would have them, for the tests of what is done with them."""

from bench.probe import Costs
from bench.results import Measurement, Results

ENVIRONMENT = {
    "at": "2030-01-31T09:00:00+00:00",
    "cpu": "Some CPU",
    "cores": 2,
    "memory_gib": 24.0,
    "system": "Linux",
    "python": "3.11",
    "node": None,
    "postgresql": "18.1",
    "server": "embedded",
    "settings": {"fsync": "on"},
    "file_system": "ext4",
    "fsync_us": 140,
    "load_before": 0.1,
    "revision": "abc",
}


def measured(workload: str, system: str, rep: int = 0, **figures: float) -> Measurement:
    return Measurement(workload, system, rep, 1.0, figures, Costs(10.0, 20.0, 300.0))


def results_of(*measurements: Measurement) -> Results:
    names = dict.fromkeys(one.system for one in measurements)
    systems = [{"name": name, "version": "1", "settings": "as it comes"} for name in names]
    options = {"reps": 1, "scale": 1.0, "seed": 1, "history": 10}
    absent = [{"name": "celery", "reason": "redis-server is not installed"}]
    return Results("./run bench", ENVIRONMENT, options, systems, absent, measurements)
