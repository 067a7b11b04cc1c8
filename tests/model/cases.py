"""What is checked of each model, how large, and which broken variants must be caught."""

from tests.model.tlc import Case

SAFETY = (
    "ExactlyOnePlace",
    "OneValidLease",
    "OneRecordPerAttempt",
    "StaleTokenChangesNothing",
    "NoMoreThanMaxAttempts",
    "SucceededNeverRunsAgain",
    "VersionsRise",
    "OnlyAnOverdueLeaseIsTaken",
    "AskedToStopDoesNotGoOn",
    "OpenIsNeverTooLow",
)


def lease_constants(
    *,
    jobs: int = 2,
    claims: int = 3,
    attempts: int = 2,
    give_backs: int = 0,
    redrives: int = 1,
    crashes: int = 0,
    broken: str = "nothing",
) -> dict[str, str]:
    names = ", ".join(f'"{name}"' for name in "abcdef"[:jobs])
    return {
        "Jobs": f"{{{names}}}",
        "Claims": str(claims),
        "MaxAttempts": str(attempts),
        "GiveBacks": str(give_backs),
        "Redrives": str(redrives),
        "Crashes": str(crashes),
        "Broken": f'"{broken}"',
    }


SMALL = (
    Case("lease: two jobs", "Lease", lease_constants(redrives=0), SAFETY),
    Case("lease: one job, redriven", "Lease", lease_constants(jobs=1, claims=5, give_backs=1), SAFETY),
)
LARGE = (
    Case("lease: snooze, release and redrive", "Lease", lease_constants(give_backs=1), SAFETY),
    Case("lease: more claims", "Lease", lease_constants(claims=4, redrives=0), SAFETY),
    Case("lease: one job, many claims", "Lease", lease_constants(jobs=1, claims=7, give_backs=2), SAFETY),
)

# Enough claims for every attempt that one job can need, so that none is missing for want of a token.
LIVE = Case(
    "lease: every job ends",
    "Lease",
    lease_constants(jobs=1, claims=4, crashes=2),
    properties=("EveryJobEnds",),
    specification="FairSpec",
)
LIVE_LARGE = Case(
    "lease: every job ends",
    "Lease",
    lease_constants(jobs=1, claims=5, give_backs=1, crashes=2),
    properties=("EveryJobEnds",),
    specification="FairSpec",
)

_REFUTED_BY = {
    "no token check": "StaleTokenChangesNothing",
    "renewal without token": "StaleTokenChangesNothing",
    "expiry ignores renewal": "OnlyAnOverdueLeaseIsTaken",
    "expiry does not count": "NoMoreThanMaxAttempts",
    "a retry beats a cancel": "AskedToStopDoesNotGoOn",
    "no attempt key": "ExactlyOnePlace",
    "the claim leaves the row in line": "ExactlyOnePlace",
    "one success drops the lease": "ExactlyOnePlace",
    "redrive of a success": "SucceededNeverRunsAgain",
}
BROKEN = (
    *(
        Case(broken, "Lease", lease_constants(broken=broken), SAFETY, refuted_by=claim)
        for broken, claim in _REFUTED_BY.items()
    ),
    Case(
        "nobody expires",
        "Lease",
        lease_constants(jobs=1, claims=4, crashes=1, broken="nobody expires"),
        properties=("EveryJobEnds",),
        specification="FairSpec",
        refuted_by="EveryJobEnds",
    ),
)
