"""What is checked of the model of cluster jobs, how large, and which broken variants must be caught."""

from typing import Any

from tests.model.tlc import Case

CLUSTER_SAFETY = (
    "OneLeaderPerTerm",
    "CreatedByTheLeader",
    "ClaimedByWhomItIsFor",
    "StaleTokenChangesNothing",
    "OnlyTheOverdueIsTaken",
    "ExactlyOnePlace",
    "NoPartBeyondItsAttempts",
    "OnePartPerNode",
    "QuorumIsReal",
    "ActionHasItsReason",
    "BegunByTheLeader",
    "NoActionUnderTwoTerms",
)


def cluster_constants(
    *,
    names: int = 2,
    restarting: int = 0,
    terms: int = 2,
    part_claims: int = 1,
    part_attempts: int = 1,
    action_claims: int = 1,
    action_attempts: int = 1,
    give_backs: bool = True,
    operators: bool = False,
    quorum: str = "majority",
    policy: str = "proceed",
    prompt: bool = False,
    deaths: int = 0,
    broken: str = "nothing",
) -> dict[str, str]:
    """`names` nodes, of which the first `restarting` may be started a second time."""
    return {
        "Names": _names(names),
        "Restarting": _names(restarting),
        "Terms": str(terms),
        "PartClaims": str(part_claims),
        "PartAttempts": str(part_attempts),
        "ActionClaims": str(action_claims),
        "ActionAttempts": str(action_attempts),
        "GiveBacks": str(give_backs).upper(),
        "Operators": str(operators).upper(),
        "Quorum": f'"{quorum}"',
        "Policy": f'"{policy}"',
        "Prompt": str(prompt).upper(),
        "Deaths": str(deaths),
        "Broken": f'"{broken}"',
    }


def _names(count: int) -> str:
    return "{" + ", ".join(f'"{name}"' for name in "abc"[:count]) + "}"


def _live(name: str, **constants: Any) -> Case:
    broken = constants.get("broken")
    return Case(
        broken or f"cluster: {name}",
        "Cluster",
        cluster_constants(**constants),
        properties=("EveryJobEnds",),
        specification="FairSpec",
        refuted_by="EveryJobEnds" if broken else None,
    )


def _safe(name: str, **constants: Any) -> Case:
    return Case(f"cluster: {name}", "Cluster", cluster_constants(**constants), CLUSTER_SAFETY)


# One name, started again while its first life still counts as a member; all parts must be done.
_ALL_OF_ONE: dict[str, Any] = {
    "names": 1,
    "restarting": 1,
    "quorum": "all",
    "policy": "wait",
    "prompt": True,
    "deaths": 1,
    "give_backs": False,
}

CLUSTER_SMALL = (
    _safe("two nodes, one dies", prompt=True, deaths=1, give_backs=False),
    _safe("a node started again", **_ALL_OF_ONE),
)
CLUSTER_LARGE = (
    _safe("a failover in every place", action_claims=2, action_attempts=2),
    _safe("a node started again, paused or dead", names=1, restarting=1, deaths=1),
    _safe("parts tried again", names=1, part_claims=3, part_attempts=2, action_claims=3, action_attempts=2),
    _safe("all are asked for, and waited for", quorum="all", policy="wait", operators=True),
    _safe("three nodes, one dies", names=3, prompt=True, deaths=1, give_backs=False),
)

# Enough claims for every attempt that can be needed, so that none is missing for want of a token.
CLUSTER_LIVE = (
    _live("a job ends although a node dies", prompt=True, deaths=1, give_backs=False),
    _live("a node started again ends its job", **_ALL_OF_ONE),
)

_ONE = {"names": 1, "terms": 1}
_TWO = {"terms": 1}
_VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "creation without term check": ("CreatedByTheLeader", {}),
    "the election does not look again": ("OneLeaderPerTerm", _TWO),
    "the leader's lease is not waited for": ("OnlyTheOverdueIsTaken", {}),
    "half is enough": ("QuorumIsReal", _TWO),
    "failed parts count": ("QuorumIsReal", _ONE),
    "the job is not parked": ("ActionHasItsReason", _ONE),
    "any node claims any part": ("ClaimedByWhomItIsFor", _TWO),
    "followers claim the action": ("ClaimedByWhomItIsFor", _ONE),
    "a part without its token": (
        "StaleTokenChangesNothing",
        {**_ONE, "part_claims": 2, "part_attempts": 2},
    ),
    "a part is not waited for": ("OnlyTheOverdueIsTaken", _ONE),
    "a crash does not count": ("NoPartBeyondItsAttempts", _ONE),
    "a member's part is taken": ("OnlyTheOverdueIsTaken", {**_ONE, "restarting": 1}),
    "a node may have two parts": ("OnePartPerNode", {**_ONE, "restarting": 1}),
    "no term check": ("BegunByTheLeader", {"give_backs": False}),
    "the last leader's lease is left": (
        "NoActionUnderTwoTerms",
        {"action_claims": 2, "action_attempts": 2, "give_backs": False},
    ),
}
CLUSTER_BROKEN = tuple(
    Case(broken, "Cluster", cluster_constants(broken=broken, **constants), (claim,), refuted_by=claim)
    for broken, (claim, constants) in _VARIANTS.items()
)
CLUSTER_BROKEN_LIVE = _live("", **_ALL_OF_ONE, broken="earlier lives stay in the quorum")
