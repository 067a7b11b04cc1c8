"""Typed functions as kinds: what they take, what they give, and what cannot be one."""

import dataclasses
import functools
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic import BaseModel, ConfigDict, Field, InstanceOf

from windlass.errors import InvalidInput, UnknownKind
from windlass.model import RetryPolicy, Snooze
from windlass.worker.context import JobContext
from windlass.worker.registry import JobDefinition, Registry
from windlass.worker.result import ANY_RESULT


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)

    at: datetime
    sender: str = Field(alias="from")


@dataclasses.dataclass
class Point:
    x: int
    tags: list[str] = dataclasses.field(default_factory=list)


class Unfit:
    """Nothing that pydantic knows."""


class Mill:
    def grind(self, ctx: JobContext, corn: int) -> int:
        return corn

    @staticmethod
    def sift(corn: int) -> int:
        return corn


def define(function: Any, **options: Any) -> JobDefinition:
    return JobDefinition.from_function(function, **options)


def call(definition: JobDefinition, *args: Any, **kwargs: Any) -> Any:
    """A payload's way to the handler and back: encoded, stored, decoded, handed over."""
    stored = json.dumps(definition.encode_payload(*args, **kwargs)).encode()
    positional, named = definition.decode_payload(stored)
    return definition.handler(*positional, **named)


def test_one_model_is_the_whole_payload() -> None:
    async def take(ctx: JobContext, order: Strict) -> None: ...

    definition = define(take)
    at = datetime(2030, 1, 2, tzinfo=UTC)
    order = Strict.model_validate({"at": at, "from": "ann"})
    stored = {"at": "2030-01-02T00:00:00Z", "from": "ann"}
    assert definition.wants_context
    assert definition.payload_type is Strict
    assert definition.encode_payload(order) == stored
    assert definition.encode_payload(**{"at": at, "from": "ann"}) == stored
    assert definition.decode_payload(json.dumps(stored).encode()) == ((order,), {})


def test_a_dataclass_is_the_whole_payload() -> None:
    def take(point: Point) -> Point:
        return point

    definition = define(take)
    assert definition.encode_payload(Point(1)) == {"x": 1, "tags": []}
    assert call(definition, Point(1, ["a"])) == Point(1, ["a"])
    with pytest.raises(InvalidInput, match="cannot be written as JSON"):
        definition.encode_payload(Point("secret"))  # type: ignore[arg-type]


def test_plain_parameters_are_fields() -> None:
    def take(ctx: Any, to: UUID, /, amount: Decimal, *, at: timedelta | None = None, **more: int) -> Any:
        return to, amount, at, more

    definition = define(take)
    to = uuid4()
    stored = definition.encode_payload(to, Decimal("1.50"), at=timedelta(minutes=1), z=3)
    assert stored == {"to": str(to), "amount": "1.50", "at": "PT1M", "z": 3}
    positional, named = definition.decode_payload(json.dumps(stored).encode())
    assert take(None, *positional, **named) == (to, Decimal("1.50"), timedelta(minutes=1), {"z": 3})
    assert definition.wants_context, "named ctx, without an annotation"


def test_what_is_left_out_stays_out() -> None:
    def take(a: int, b: int = 2) -> int:
        return a + b

    definition = define(take)
    assert definition.encode_payload(1) == {"a": 1}, "a default may change before the job runs"
    assert call(definition, 1) == 3


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({}, "a is missing"),
        ({"a": "x"}, "a must be a whole number"),
        ({"a": 1, "z": 1}, "z is not known"),
        (None, "it must be an object"),
        ([1], "it must be an object"),
    ],
)
def test_a_stored_payload_that_does_not_fit_is_refused(payload: Any, said: str) -> None:
    def take(a: int) -> None: ...

    with pytest.raises(InvalidInput, match=said) as caught:
        define(take).decode_payload(json.dumps(payload).encode())
    assert "'take'" in str(caught.value)


def test_a_type_that_is_known_in_pythons_terms_only_is_read_all_the_same() -> None:
    def take(names: InstanceOf[list], at: datetime) -> None: ...

    at = datetime(2030, 1, 2, tzinfo=UTC)
    stored = b'{"names": ["a"], "at": "2030-01-02T00:00:00Z"}'
    assert define(take).decode_payload(stored) == ((), {"names": ["a"], "at": at})
    with pytest.raises(InvalidInput, match="'take'"):
        define(take).decode_payload(b'{"names": "a", "at": "2030-01-02T00:00:00Z"}')


def test_an_enqueue_that_does_not_fit_is_refused() -> None:
    def take(a: int) -> None: ...

    definition = define(take)
    for args, said in [
        ((), "missing a required argument: 'a'"),
        ((1, 2), "too many positional arguments"),
        (("secret",), "a must be a whole number"),
    ]:
        with pytest.raises(InvalidInput, match=said) as caught:
            definition.encode_payload(*args)
        assert "secret" not in str(caught.value)


def test_many_faults_are_not_all_told() -> None:
    def take(a: int, b: int, c: int, d: int, e: int, f: int, g: int) -> None: ...

    with pytest.raises(InvalidInput, match="and 2 more"):
        define(take).decode_payload(b"{}")


async def _coroutine() -> None: ...


def test_where_a_handler_runs() -> None:
    def plain() -> None: ...

    class Sender:
        async def __call__(self, a: int) -> None: ...

    assert define(_coroutine).room == "loop"
    assert define(plain).room == "thread"
    assert define(plain, isolation="loop").room == "loop"
    assert define(_coroutine, isolation="process").room == "process"
    assert define(functools.partial(_coroutine), kind="partial").is_async
    assert define(Sender(), kind="object").encode_payload(1) == {"a": 1}


def test_what_cannot_be_a_handler() -> None:
    def star(*values: int) -> None: ...

    def late(a: int, ctx: JobContext) -> None: ...

    def generator() -> Any:
        yield 1

    def unfit(value: Unfit) -> None: ...

    def unknown(value: "Missing") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    def local() -> None: ...

    unfit_ones: list[tuple[Any, dict[str, Any], str]] = [
        (star, {}, "takes \\*values"),
        (late, {}, "context as the first parameter"),
        (generator, {}, "is a generator"),
        (unfit, {}, "cannot be a job"),
        (Mill.grind, {}, "is a method, and a job has no 'self'"),
        (unknown, {}, "'Missing' is not defined"),
        (local, {"isolation": "process"}, "must be a function of a module"),
        (local, {"isolation": "fork"}, "isolation is auto"),
        (_coroutine, {"isolation": "thread"}, "not in a thread"),
        (local, {"kind": "no spaces"}, "cannot be a kind"),
        (local, {"timeout": 0}, "timeout"),
        (local, {"timeout": float("nan")}, "timeout"),
        (local, {"priority": 40_000}, "priority"),
        (local, {"retry": "never"}, "no retry preset"),
    ]
    for function, options, said in unfit_ones:
        with pytest.raises(InvalidInput, match=said):
            define(function, **options)


def test_what_looks_like_a_method_and_can_be_a_handler() -> None:
    def train(cls: str) -> str:
        return cls

    assert call(define(train), "bird") == "bird"
    assert call(define(Mill.sift), 2) == 2
    assert define(Mill().grind).wants_context


def test_defaults_of_a_kind() -> None:
    def send() -> None: ...

    definition = define(
        send, queue="mail", priority=3, max_attempts=7, retry="doubling_to_an_hour", timeout=5
    )
    assert (definition.kind, definition.queue, definition.priority, definition.timeout) == (
        "send",
        "mail",
        3,
        5.0,
    )
    assert definition.retry == RetryPolicy(jitter="none", max_attempts=7)


def test_a_result_is_read_as_declared() -> None:
    def give() -> Point | Snooze | None: ...

    def anything() -> Any: ...

    assert define(give).decode_result({"x": 1, "tags": []}) == Point(1)
    assert define(give).decode_result(None) is None
    assert define(anything).decode_result({"x": 1}) == {"x": 1}


def test_a_result_is_written_as_json() -> None:
    moment, encode_result = datetime(2030, 1, 2, tzinfo=UTC), ANY_RESULT.encode
    assert encode_result(None) is None
    assert encode_result({"a": [1, "é"]}) == '{"a":[1,"é"]}'
    assert encode_result(Point(1)) == '{"x":1,"tags":[]}'
    assert encode_result({"at": moment, "ids": {1}}) == '{"at":"2030-01-02T00:00:00Z","ids":[1]}'
    assert (
        encode_result(Strict.model_validate({"at": moment, "from": "ann"}))
        == '{"at":"2030-01-02T00:00:00Z","from":"ann"}'
    )
    for bad in (object(), float("inf"), "\x00", {"a": "\ud800"}, "x" * 100):
        with pytest.raises(InvalidInput):
            encode_result(bad, limit_bytes=50)


def test_a_registry_knows_each_kind_once() -> None:
    registry = Registry()
    first = registry.add(define(_coroutine, kind="b"))
    registry.add(define(_coroutine, kind="a"))
    assert registry.add(first) is first
    assert (registry.kinds(), len(registry), "a" in registry, "c" in registry) == (("a", "b"), 2, True, False)
    assert registry.get("b") is first
    with pytest.raises(InvalidInput, match="has a handler already"):
        registry.add(define(_coroutine, kind="b"))
    with pytest.raises(UnknownKind):
        registry.get("c")
