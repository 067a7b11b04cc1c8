"""The error tree: one code each, and every answer of the database becomes one of them."""

import copy
import pickle
import re

import pytest

from windlass import errors
from windlass.db.sqlstates import from_sqlstate
from windlass.errors import (
    ERROR_CLASSES,
    Forbidden,
    IdempotencyConflict,
    InvalidInput,
    JobFailed,
    LeaseLost,
    LimitExceeded,
    NotLeader,
    SchemaMismatch,
    Unavailable,
    WaitTimeout,
    WindlassError,
)


def test_str_is_the_sentence_and_details_are_kept() -> None:
    error = InvalidInput("the payload is too large", message="a detail of that name", size=7)
    assert str(error) == error.message == "the payload is too large"
    assert error.details == {"message": "a detail of that name", "size": 7}


def test_codes_and_sqlstates_are_unique() -> None:
    codes = [cls.code for cls in ERROR_CLASSES]
    states = [cls.sqlstate for cls in ERROR_CLASSES if cls.sqlstate]
    assert len(set(codes)) == len(codes)
    assert states == [f"WL{number:03}" for number in range(1, 9)]


def test_every_error_class_is_in_the_tree() -> None:
    defined = {
        item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, Exception)
    }
    assert defined == set(ERROR_CLASSES)


@pytest.mark.parametrize("cls", ERROR_CLASSES, ids=lambda cls: cls.__name__)
def test_docstring_shows_the_class_as_it_is(cls: type[WindlassError]) -> None:
    tree = (errors.__doc__ or "").replace("–", "None")
    line = next(line for line in tree.splitlines() if re.search(rf"\b{cls.__name__}\b", line))
    if cls is WindlassError:
        assert cls.code in line.split()
    else:
        assert line.split()[1:] == [
            cls.__name__,
            cls.code,
            str(cls.sqlstate),
            str(cls.http_status),
            cls.advice,
        ]


def test_no_class_hides_a_builtin() -> None:
    import builtins

    assert not [cls.__name__ for cls in ERROR_CLASSES if hasattr(builtins, cls.__name__)]


@pytest.mark.parametrize("cls", [cls for cls in ERROR_CLASSES if cls.sqlstate], ids=lambda cls: cls.__name__)
def test_own_sqlstates_map_to_their_class(cls: type[WindlassError]) -> None:
    error = from_sqlstate(cls.sqlstate, "a sentence", {"job_id": "x"})
    assert type(error) is cls
    assert str(error) == "a sentence"
    assert error.details == {"job_id": "x"}


@pytest.mark.parametrize(
    ("sqlstate", "expected"),
    [
        (None, Unavailable),
        ("08006", Unavailable),
        ("40001", Unavailable),
        ("40P01", Unavailable),
        ("53300", Unavailable),
        ("57P01", Unavailable),
        ("57P03", Unavailable),
        ("25006", Unavailable),
        ("26000", Unavailable),
        ("42P05", Unavailable),
        ("55P03", Unavailable),
        ("42501", Forbidden),
        ("28P01", Forbidden),
        ("42883", SchemaMismatch),
        ("3F000", SchemaMismatch),
        ("0A000", SchemaMismatch),
        ("25P02", InvalidInput),
        ("22P05", InvalidInput),
        ("22P02", InvalidInput),
        ("54001", InvalidInput),
        ("22012", WindlassError),
        ("42601", WindlassError),
        ("XX000", WindlassError),
        ("WL999", WindlassError),
        ("", WindlassError),
    ],
)
def test_states_of_postgresql_map_by_what_the_caller_should_do(
    sqlstate: str | None, expected: type[WindlassError]
) -> None:
    error = from_sqlstate(sqlstate, "a sentence")
    assert type(error) is expected
    assert error.details.get("sqlstate") == sqlstate


@pytest.mark.parametrize("sqlstate", ["26000", "42P05"])
def test_a_session_that_changed_hands_says_what_to_set(sqlstate: str) -> None:
    hint = from_sqlstate(sqlstate, 'prepared statement "x" …').details["hint"]
    assert "WINDLASS_POOLER=transaction" in hint


@pytest.mark.parametrize(
    ("sqlstate", "said", "meaning"),
    [
        ("3F000", 'schema "windlass" does not exist', "Windlass is not installed in this database"),
        ("42883", "function windlass.new_one(uuid, text) does not exist", "not those of this release"),
    ],
)
def test_what_is_missing_of_ours_says_what_to_run(sqlstate: str, said: str, meaning: str) -> None:
    error = from_sqlstate(sqlstate, said)
    assert meaning in error.message
    assert "`windlass migrate`" in error.message
    assert error.details["detail"] == said


@pytest.mark.parametrize(
    ("sqlstate", "said"),
    [("3F000", 'schema "shop" does not exist'), ("42883", "function shop.sweep() does not exist")],
)
def test_what_is_missing_of_others_is_told_as_it_came(sqlstate: str, said: str) -> None:
    assert from_sqlstate(sqlstate, said).message == said


@pytest.mark.parametrize("cls", ERROR_CLASSES, ids=lambda cls: cls.__name__)
def test_errors_survive_pickle_and_copy(cls: type[WindlassError]) -> None:
    error = cls("a sentence", state="dead", attempts=3)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is cls
        assert str(again) == "a sentence"
        assert again.details == error.details


def test_named_details() -> None:
    assert LimitExceeded("full").retry_after is None
    assert LimitExceeded("full", retry_after="1.5").retry_after == 1.5
    assert NotLeader("no").leader is None
    assert NotLeader("no", leader="10.0.0.1:80").leader == "10.0.0.1:80"
    failed = JobFailed("the job is dead", state="dead", error={"type": "E"}, attempts=5)
    assert (failed.state, failed.error, failed.attempts) == ("dead", {"type": "E"}, 5)


def test_all_are_one_family() -> None:
    for cls in (IdempotencyConflict, LeaseLost, WaitTimeout):
        with pytest.raises(WindlassError):
            raise cls("a sentence")


@pytest.mark.parametrize(
    "message", ['query would be affected by row-level security policy for table "job"', "in another language"]
)
def test_nobody_is_told_how_to_take_the_wall_between_tenants_down(message: str) -> None:
    hint = "To disable the policy for the table's owner, use ALTER TABLE NO FORCE ROW LEVEL SECURITY."
    error = from_sqlstate("42501", message, {"hint": hint})
    assert isinstance(error, Forbidden)
    assert "row_security is off" in error.message
    assert error.details["hint"] == "alter role … reset row_security;"


def test_a_read_only_transaction_may_be_a_standbys_or_the_logins() -> None:
    hint = from_sqlstate("25006", "cannot execute INSERT in a read-only transaction").details["hint"]
    assert "standby" in hint
    assert "default_transaction_read_only" in hint


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("failed: refused\n\tIs the server running?", "failed: refused; Is the server running?"),
        ("All failures were:\n- host: 'a'\n- host: 'b'\n", "All failures were: - host: 'a'; - host: 'b'"),
    ],
)
def test_what_the_library_says_of_a_connection_is_one_line(message: str, told: str) -> None:
    assert from_sqlstate(None, message).message == told
