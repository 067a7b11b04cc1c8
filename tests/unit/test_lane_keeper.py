"""How often the list of lanes is looked through, and how long at a time."""

from datetime import timedelta
from typing import Any, cast

from windlass.cluster import LaneKeeper
from windlass.db.call import Call


class Database:
    """Has so many empty lanes, and notes what it was asked."""

    def __init__(self, empty: int = 0) -> None:
        self.empty = empty
        self.asked: list[timedelta | None] = []

    async def run(self, call: Call[Any]) -> Any:
        limit, idle = cast("tuple[int, timedelta | None]", call.values)
        self.asked.append(idle)
        went = min(limit, self.empty)
        self.empty -= went
        return went


def keeper(database: Database, *, resting: list[bool]) -> LaneKeeper:
    return LaneKeeper(database, idle=lambda: resting[0])


async def test_all_that_is_empty_goes_in_one_look() -> None:
    database = Database(10_001)
    lanes = keeper(database, resting=[False])
    await lanes.tick()
    assert (database.empty, lanes.retired, len(database.asked)) == (0, 10_001, 11)


async def test_a_look_ends_even_if_lanes_come_as_fast_as_they_go() -> None:
    database = Database(10**9)
    await keeper(database, resting=[False]).tick()
    assert len(database.asked) == 100


async def test_the_first_look_is_at_all_lanes_and_the_next_at_those_that_rested() -> None:
    database = Database()
    lanes = keeper(database, resting=[False])
    for _ in range(31):
        await lanes.tick()
    assert database.asked == [None, *[timedelta(seconds=10)] * 29, None]


async def test_what_rests_since_the_work_ended_is_looked_at_before_looks_become_rare() -> None:
    database, resting = Database(), [False]
    lanes = keeper(database, resting=resting)
    for _ in range(3):
        await lanes._tick_unless_spared()
    resting[0] = True
    for _ in range(2):  # in the first of them, what ended just now has not rested yet
        before = len(database.asked)
        await lanes._tick_unless_spared()
        assert len(database.asked) == before + 1
    before = len(database.asked)
    for _ in range(10):
        await lanes._tick_unless_spared()
    assert len(database.asked) == before + 2, "at every fifth interval"
    resting[0] = False
    await lanes._tick_unless_spared()
    assert len(database.asked) == before + 3
