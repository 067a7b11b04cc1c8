"""Concurrency keys declared beside a job: found in the payload, checked when they are declared."""

import dataclasses
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, NotRequired
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from windlass import InvalidInput, JobContext, NewJob, Windlass
from windlass.model.cluster import NewClusterJob

SOME_ID = UUID("0190a000-0000-7000-8000-000000000001")


class Region(StrEnum):
    EAST = "east"


class Customer(BaseModel):
    id: int
    home: Region = Region.EAST


@dataclasses.dataclass
class Owner:
    name: str
    tags: list[str] = dataclasses.field(default_factory=list)


class Place(TypedDict):
    city: NotRequired[str]


class Order(BaseModel):
    number: UUID = Field(alias="no")
    customer: Customer | None = None
    owner: Owner | None = None
    place: Annotated[Place, "where"] = Field(default_factory=Place)
    more: dict[str, Any] = Field(default_factory=dict)


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")


def order(**more: Any) -> Order:
    return Order.model_validate({"no": SOME_ID, **more})


def take(order: Order) -> None: ...


def pay(ctx: JobContext, account: int, note: str = "none", /, *, currency: Region = Region.EAST) -> None: ...


def anything(**fields: Any) -> None: ...


def loose(value: Loose) -> None: ...


@pytest.mark.parametrize(
    ("key", "given", "expected"),
    [
        ("number", order(), str(SOME_ID)),
        ("customer.id", order(customer={"id": 7}), "7"),
        ("customer.home", order(customer={"id": 7}), "east"),
        ("customer.id", order(), None),
        ("owner.name", order(owner={"name": "Ann"}), "Ann"),
        ("place.city", order(place={"city": "Rome"}), "Rome"),
        ("place.city", order(), None),
        ("more.deep.er", order(more={"deep": {"er": 1.5}}), "1.5"),
        ("more.deep.er", order(), None),
        (lambda order: order.customer and f"c{order.customer.id}", order(customer={"id": 7}), "c7"),
        (lambda order: order.customer, order(), None),
        (lambda _: Decimal("1.50"), order(), "1.50"),
    ],
)
def test_a_key_of_a_model(key: Any, given: Order, expected: str | None) -> None:
    new = Windlass().job(concurrency_key=key, concurrency_limit=3)(take).new(given)
    assert new.concurrency_key == expected
    assert new.concurrency_limit == (None if expected is None else 3)


@pytest.mark.parametrize(
    ("key", "given", "expected"),
    [
        ("account", (5,), "5"),
        ("note", (5,), "none"),
        ("currency", (5,), "east"),
        (lambda account, note, *, currency: f"{account} {note} {currency}", (5, "x"), "5 x east"),
    ],
)
def test_a_key_of_parameters_with_their_defaults(key: Any, given: tuple[Any, ...], expected: str) -> None:
    assert Windlass().job(concurrency_key=key)(pay).new(*given).concurrency_key == expected


def test_fields_that_nobody_declared() -> None:
    app = Windlass()
    assert app.job(concurrency_key="who")(anything).new(who="ann").concurrency_key == "ann"
    assert app.job(concurrency_key="who")(loose).new(Loose.model_validate({"who": 3})).concurrency_key == "3"


async def later(order: Order) -> str:
    return ""


@pytest.mark.parametrize(
    ("function", "key", "why"),
    [
        (take, "customer_id", "names no field 'customer_id': it has number, customer, owner"),
        (take, "no", "names no field 'no'"),
        (take, "customer.name", "names no field 'name': it has id, home"),
        (take, "number.hex", "names no field 'hex': there is none to be found"),
        (take, "", "names no field ''"),
        (take, "customer", "neither text nor a number"),
        (take, "owner.tags", "neither text nor a number"),
        (pay, "amount", "names no field 'amount': it has account, note, currency"),
        (pay, lambda account: account, "cannot be called as its handler is"),
        (take, lambda: "all", "cannot be called as its handler is"),
        (take, later, "is an async function"),
        (take, 5, "is the name of a field or a function, not 5"),
    ],
)
def test_what_cannot_be_a_key_is_refused_when_it_is_declared(function: Any, key: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        Windlass().job(concurrency_key=key)(function)


@pytest.mark.parametrize(
    "found", [True, b"x", [1], float("nan"), "", "x" * 501, "\x00"], ids=lambda found: repr(found)[:12]
)
def test_what_cannot_be_a_key_is_refused_when_it_is_made(found: Any) -> None:
    send = Windlass().job(concurrency_key=lambda order: found)(take)
    with pytest.raises(InvalidInput, match="key"):
        send.new(order())


def test_an_enqueue_may_say_otherwise() -> None:
    send = Windlass().job(concurrency_key="customer.id", concurrency_limit=3)(take)
    given = order(customer={"id": 7})
    assert send.options(concurrency_key=SOME_ID).new(given).concurrency_key == str(SOME_ID)
    other = send.options(concurrency_key="x", concurrency_limit=2).new(given)
    assert (other.concurrency_key, other.concurrency_limit) == ("x", 2)
    assert send.options(concurrency_limit=2).new(order()).concurrency_limit is None, "no key, no limit"


@pytest.mark.parametrize("limit", [0, 1001, True, 1.5])
def test_a_limit_needs_a_key_and_a_sense(limit: Any) -> None:
    app = Windlass()
    with pytest.raises(InvalidInput, match="from 1 to 1000"):
        app.job(concurrency_key="number", concurrency_limit=limit)(take)
    with pytest.raises(InvalidInput, match="needs a concurrency_key"):
        app.job(concurrency_limit=3)(take)
    with pytest.raises(InvalidInput, match="needs a concurrency_key"):
        app.job(take).options(concurrency_limit=3).new(order())


def test_cluster_jobs_have_no_key() -> None:
    with pytest.raises(InvalidInput, match="cluster job has no concurrency_key"):
        NewClusterJob(job=NewJob(kind="compact", payload={}, concurrency_key="a"))
    with pytest.raises(TypeError, match="concurrency_key"):
        Windlass().cluster_job(concurrency_key="a")  # type: ignore[call-arg]


def test_a_key_travels_with_what_jobs_share_and_with_each() -> None:
    first, second = (NewJob(kind="a", payload={}, concurrency_key=key) for key in ("x", "y"))
    assert first.shared != second.shared
    assert '"concurrency_key": "x"' in first.shared_json()
    assert '"concurrency_key": "y"' in second.to_json("{}")
