"""What a process is told by its environment: `WINDLASS_*`, checked once, at the start.

Every field below is the variable of the same name in capitals, after `WINDLASS_`.  A variable that
is set but empty counts as not set.  `WINDLASS_TEST_*` is left to test suites.
"""

import difflib
import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from windlass.errors import InvalidInput
from windlass.model import MAX_ERROR_BYTES, MAX_PAYLOAD_BYTES, MAX_RESULT_BYTES, check_queue, check_slug
from windlass.model.address import check_address
from windlass.model.faults import fault_in_words

PREFIX = "WINDLASS_"
_FOR_TESTS = "WINDLASS_TEST_"
_SECRET_KEYWORDS = "(?:ssl)?password|oauth_client_secret|scram_(?:client|server)_key"  # noqa: S105
_URL_USER = re.compile(r"(://[^:@/?#]*):.*@", re.DOTALL)
_URL_SECRET = re.compile(rf"((?:{_SECRET_KEYWORDS})=)[^&#]*", re.IGNORECASE)
_KEYWORD_SECRET = re.compile(
    rf"((?:{_SECRET_KEYWORDS})\s*=\s*)(?:'(?:\\.|[^'\\])*(?:'|\Z)|(?:\\.|[^\s\\])*)",
    re.IGNORECASE | re.DOTALL,
)


def masked_url(url: str) -> str:
    """A database URL, or a keyword connection string, that may be shown: without its secrets.

    Where it is unclear where a password ends, too much is hidden rather than too little.
    """
    if "://" in url:
        return _URL_SECRET.sub(r"\1***", _URL_USER.sub(r"\1:***@", url))
    return _KEYWORD_SECRET.sub(r"\1***", url)


def _check_url(value: str) -> str:
    scheme, found, _ = value.partition("://")
    if found and scheme not in ("postgresql", "postgres"):
        raise ValueError("must begin with postgresql:// or be a libpq connection string")
    if not found and "=" not in value:
        raise ValueError("must be a URL such as postgresql://user@host/name or a libpq connection string")
    if "\x00" in value:
        raise ValueError("must not contain a NUL character")
    return value


def _named(check: Any) -> AfterValidator:
    def validate(value: str) -> str:
        try:
            return str(check(value))
        except InvalidInput as exc:
            raise ValueError(str(exc)) from None

    return AfterValidator(validate)


def _split(value: Any) -> Any:
    return (
        tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value
    )


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


DatabaseUrl = Annotated[str, AfterValidator(_check_url), _named(check_address)]
QueueName = Annotated[str, _named(check_queue)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
LeaseSeconds = Annotated[float, Field(ge=0.1, le=86_400, allow_inf_nan=False)]
Days = Annotated[float, Field(ge=0, le=36_500, allow_inf_nan=False)]
Bytes = Annotated[int, Field(ge=1024, le=1024 * 1024)]  # what the database keeps in a row
Level = Annotated[Literal["debug", "info", "warning", "error"], BeforeValidator(_lower)]


class Settings(BaseModel):
    """One process's settings; made by `from_env`, never changed afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    database_url: DatabaseUrl | None = None
    """The database; without one, an embedded server is started."""
    listen_url: DatabaseUrl | None = None
    """A direct connection for waking up, when `database_url` leads through a pooler."""
    pooler: Literal["none", "transaction"] = "none"
    tenant: Annotated[str, _named(check_slug)] = "default"
    data_dir: Path | None = None
    """Where the embedded server keeps its data."""
    pg_bin: Path | None = None
    """The directory of the PostgreSQL programs that the embedded server runs."""
    node_name: Annotated[str, Field(min_length=1, max_length=200)] = Field(default_factory=socket.gethostname)
    address: Annotated[str, Field(max_length=200)] | None = None
    """Where other programs reach this node, if they do: told to those who ask for the leader."""
    queues: Annotated[tuple[QueueName, ...], Field(min_length=1), BeforeValidator(_split)] = ("default",)
    concurrency: Annotated[int, Field(ge=1, le=10_000)] = 10
    lease_seconds: LeaseSeconds = 30.0
    poll_seconds: Seconds = 0.5
    cluster_lease_seconds: LeaseSeconds = 10.0
    """How long a node counts as a member, and as the leader, without a sign of life."""
    grace_seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] = 30.0
    """How long attempts may go on after the first SIGTERM."""
    retention_succeeded_days: Days = 7.0
    retention_canceled_days: Days = 7.0
    retention_skipped_days: Days = 7.0
    retention_dead_days: Days = 30.0
    max_payload_bytes: Bytes = MAX_PAYLOAD_BYTES
    max_result_bytes: Bytes = MAX_RESULT_BYTES
    max_error_bytes: Bytes = MAX_ERROR_BYTES
    log_format: Annotated[Literal["auto", "json", "human"], BeforeValidator(_lower)] = "auto"
    log_level: Level = "info"
    debug: bool = False
    """Whether a command that fails shows where in the code it did."""

    @property
    def named_tenant(self) -> str | None:
        """The tenant, if one was named at all."""
        return self.tenant if "tenant" in self.model_fields_set else None

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> Self:
        """The settings that the environment gives; an override that is not None goes first."""
        given = {name: value for name, value in overrides.items() if value is not None}
        for name in given:
            if name not in cls.model_fields:
                raise InvalidInput(f"there is no setting {name}{_nearest(name, list(cls.model_fields))}")
        found = cls._read(os.environ if environ is None else environ)
        try:
            return cls.model_validate({**found, **given})
        except ValidationError as exc:
            raise _invalid(exc, {**found, **given}, overridden=given.keys()) from None

    @classmethod
    def _read(cls, environ: Mapping[str, str]) -> dict[str, str]:
        fields = {PREFIX + name.upper(): name for name in cls.model_fields}
        found = {}
        for variable, value in environ.items():
            if not variable.startswith(PREFIX) or variable.startswith(_FOR_TESTS):
                continue
            if variable not in fields:
                raise InvalidInput(f"there is no setting {variable}{_nearest(variable, list(fields))}")
            if value.strip():
                found[fields[variable]] = value.strip()
        return found

    @property
    def retention_days(self) -> Mapping[str, float]:
        """How many days a finished job is kept, by its state."""
        return {
            "succeeded": self.retention_succeeded_days,
            "canceled": self.retention_canceled_days,
            "skipped": self.retention_skipped_days,
            "dead": self.retention_dead_days,
        }

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        return [
            (name, masked_url(value) if name in ("database_url", "listen_url") and value else value)
            for name, value in super().__repr_args__()
        ]


def _nearest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0)
    return f"; did you mean {close[0]}?" if close else ""


def _invalid(exc: ValidationError, given: Mapping[str, Any], overridden: Any) -> InvalidInput:
    first = exc.errors(include_url=False, include_input=False)[0]
    name = str(first["loc"][0])
    shown = name if name in overridden else PREFIX + name.upper()
    fault = fault_in_words(first)
    if name.endswith("_url"):
        return InvalidInput(f"{shown} {fault}", setting=name)
    return InvalidInput(f"{shown} is {_in_words(given.get(name))}, but {fault}", setting=name)


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))  # as it is written on a command line
    return str(value) if isinstance(value, int | float) else repr(str(value)[:100])
