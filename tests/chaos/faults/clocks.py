"""Workers whose clock is an hour off, or runs too fast."""

import shutil
import subprocess
from pathlib import Path
from typing import ClassVar

from tests.chaos.faults.base import Fault
from tests.chaos.site import Slot

__all__ = ["ClockAhead", "ClockBehind", "ClockDrift"]

# Stands before the C library's own functions; only the calendar clock is moved, as on a machine set wrongly.
_SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static long shift(void) { const char *s = getenv("WINDLASS_TEST_CLOCK"); return s ? atol(s) : 0; }
static double drift(void) { const char *s = getenv("WINDLASS_TEST_DRIFT"); return s ? atof(s) : 0; }
static void skew(struct timespec *t) {
  static double first;
  double now = t->tv_sec + t->tv_nsec / 1e9;
  if (!first) first = now;
  now += shift() + (now - first) * drift();
  t->tv_sec = (time_t) now;
  t->tv_nsec = (long) ((now - (double) t->tv_sec) * 1e9);
}
int clock_gettime(clockid_t id, struct timespec *t) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, t);
  if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) skew(t);
  return result;
}
int gettimeofday(struct timeval *t, void *zone) {
  struct timespec now;
  (void) zone;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return result;
}
time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
"""


class Clock(Fault):
    """One more worker, whose process sees another time of day than the database."""

    seconds: ClassVar[int] = 0
    drift: ClassVar[float] = 0.0
    """How much too fast it runs: 0.02 is 72 seconds an hour."""
    leases = 4.0
    _slot: Slot | None = None
    _library: Path | None = None

    def absent(self) -> str | None:
        return None if shutil.which("cc") else "no C compiler (cc) to move a process's clock with"

    def prepare(self) -> None:
        self._library = build_shim(self.site.short)

    def start(self) -> None:
        environment = {
            "LD_PRELOAD": str(self._library),
            "WINDLASS_TEST_CLOCK": str(self.seconds),
            "WINDLASS_TEST_DRIFT": str(self.drift),
        }
        self._slot = self.site.open_slot(self.name, environment=environment)

    def heal(self) -> None:
        if self._slot is not None:
            self.site.close_slot(self._slot)
            self._slot = None

    def describe(self) -> str:
        return f"a worker whose clock is off by {self.seconds:+d} s and runs {self.drift:.0%} too fast"


def build_shim(directory: Path) -> Path:
    """The library that moves the clock of any program that is started with it."""
    source, library = directory / "clock.c", directory / "clock.so"
    if not library.exists():
        source.write_text(_SHIM)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


class ClockAhead(Clock):
    name = "clock-ahead"
    seconds = 3600


class ClockBehind(Clock):
    name = "clock-behind"
    seconds = -3600


class ClockDrift(Clock):
    name = "clock-drift"
    drift = 0.02
