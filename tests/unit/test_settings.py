"""Settings: what the environment says, in sentences that name the variable, without passwords."""

from pathlib import Path
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict
from pydantic import ValidationError

from windlass.errors import InvalidInput
from windlass.settings import Settings, masked_url

SECRET = "hunter2"


def test_defaults() -> None:
    settings = Settings.from_env({"PATH": "/bin", "windlass_concurrency": "ignored"})
    assert settings.database_url is None
    assert settings.tenant == "default"
    assert settings.queues == ("default",)
    assert (settings.lease_seconds, settings.poll_seconds, settings.grace_seconds) == (30, 0.5, 30)
    assert settings.concurrency == 10
    assert settings.retention_days == {"succeeded": 7, "canceled": 7, "skipped": 7, "dead": 30}
    assert (settings.max_payload_bytes, settings.max_error_bytes) == (1024 * 1024, 64 * 1024)
    assert settings.node_name


def test_every_setting_is_read_from_its_variable() -> None:
    environ = {
        "WINDLASS_DATABASE_URL": "postgresql://u@h/db",
        "WINDLASS_LISTEN_URL": "host=h dbname=db",
        "WINDLASS_POOLER": "transaction",
        "WINDLASS_TENANT": "acme",
        "WINDLASS_DATA_DIR": "/var/lib/x",
        "WINDLASS_PG_BIN": "/opt/pg/bin",
        "WINDLASS_NODE_NAME": "node-1",
        "WINDLASS_ADDRESS": "node-1.example:8080",
        "WINDLASS_QUEUES": "mail, reports,",
        "WINDLASS_CONCURRENCY": "3",
        "WINDLASS_LEASE_SECONDS": "5",
        "WINDLASS_POLL_SECONDS": "0.1",
        "WINDLASS_CLUSTER_LEASE_SECONDS": "2",
        "WINDLASS_GRACE_SECONDS": "0",
        "WINDLASS_RETENTION_SUCCEEDED_DAYS": "1",
        "WINDLASS_RETENTION_CANCELED_DAYS": "2",
        "WINDLASS_RETENTION_SKIPPED_DAYS": "3",
        "WINDLASS_RETENTION_DEAD_DAYS": "0.5",
        "WINDLASS_MAX_PAYLOAD_BYTES": "2048",
        "WINDLASS_MAX_RESULT_BYTES": "2049",
        "WINDLASS_MAX_ERROR_BYTES": "2050",
        "WINDLASS_LOG_FORMAT": "JSON",
        "WINDLASS_LOG_LEVEL": "Debug",
        "WINDLASS_DEBUG": "1",
    }
    settings = Settings.from_env(environ)
    assert settings.queues == ("mail", "reports")
    assert settings.data_dir == Path("/var/lib/x")
    assert (settings.log_format, settings.log_level, settings.debug) == ("json", "debug", True)
    assert settings.retention_days == {"succeeded": 1, "canceled": 2, "skipped": 3, "dead": 0.5}
    assert {f"WINDLASS_{name.upper()}" for name in Settings.model_fields} == environ.keys()
    assert settings.model_fields_set == Settings.model_fields.keys()


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_CONCURRENCY", "7")
    assert Settings.from_env().concurrency == 7


def test_overrides_go_first_and_none_is_no_override() -> None:
    environ = {"WINDLASS_CONCURRENCY": "3", "WINDLASS_TENANT": "acme"}
    settings = Settings.from_env(environ, concurrency=4, tenant=None, queues="a,b")
    assert (settings.concurrency, settings.tenant, settings.queues) == (4, "acme", ("a", "b"))


def test_an_empty_variable_counts_as_not_set() -> None:
    settings = Settings.from_env({"WINDLASS_DATABASE_URL": "", "WINDLASS_CONCURRENCY": "  "})
    assert settings.database_url is None
    assert settings.concurrency == 10


def test_variables_for_tests_are_left_alone() -> None:
    assert Settings.from_env({"WINDLASS_TEST_ALL_VERSIONS": "1"}).concurrency == 10


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("WINDLASS_DATABSE_URL", "WINDLASS_DATABASE_URL"),
        ("WINDLASS_CONCURENCY", "WINDLASS_CONCURRENCY"),
        ("WINDLASS_LISTEN_DSN", "WINDLASS_LISTEN_URL"),
        ("WINDLASS_QUEUE", "WINDLASS_QUEUES"),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest(variable: str, nearest: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Settings.from_env({variable: "1"})
    assert str(caught.value) == f"there is no setting {variable}; did you mean {nearest}?"


def test_an_unknown_override_is_refused() -> None:
    with pytest.raises(InvalidInput, match="there is no setting concurency; did you mean concurrency"):
        Settings.from_env({}, concurency=1)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("WINDLASS_CONCURRENCY", "many", "is 'many', but must be a whole number"),
        ("WINDLASS_CONCURRENCY", "0", "is '0', but must be 1 or more"),
        ("WINDLASS_LEASE_SECONDS", "0.01", "must be 0.1 or more"),
        ("WINDLASS_POLL_SECONDS", "0", "must be greater than 0"),
        ("WINDLASS_LEASE_SECONDS", "nan", "must be a finite number"),
        ("WINDLASS_LEASE_SECONDS", "inf", "must be a finite number"),
        ("WINDLASS_POOLER", "session", "must be 'none' or 'transaction'"),
        ("WINDLASS_LOG_FORMAT", "xml", "must be 'auto', 'json' or 'human'"),
        ("WINDLASS_TENANT", "Acme Inc", "'Acme Inc' cannot be a tenant slug"),
        ("WINDLASS_QUEUES", "a b", "'a b' cannot be a queue"),
        ("WINDLASS_QUEUES", ",", "must have 1 or more items"),
        ("WINDLASS_RETENTION_DEAD_DAYS", "-1", "must be 0 or more"),
    ],
)
def test_a_wrong_value_gives_one_sentence_with_the_variable(variable: str, value: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Settings.from_env({variable: value})
    assert str(caught.value).startswith(f"{variable} ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wrong_override_is_called_by_its_own_name() -> None:
    with pytest.raises(InvalidInput, match=r"^concurrency is 0, but"):
        Settings.from_env({}, concurrency=0)


def test_settings_are_frozen() -> None:
    settings = Settings.from_env({})
    with pytest.raises(ValidationError):
        settings.concurrency = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u@h/db", "postgresql://u@h/db"),
        ("postgresql://h:5432/db", "postgresql://h:5432/db"),
        (
            f"postgresql://u:{SECRET}@h:5432/db?sslmode=require",
            "postgresql://u:***@h:5432/db?sslmode=require",
        ),
        (f"postgresql://u:{SECRET}@a:1,b:2/db", "postgresql://u:***@a:1,b:2/db"),
        (f"postgresql://:{SECRET}@h/db", "postgresql://:***@h/db"),
        (f"postgres://h/db?user=u&password={SECRET}&a=b", "postgres://h/db?user=u&password=***&a=b"),
        (f"postgres://h/db?sslpassword={SECRET}", "postgres://h/db?sslpassword=***"),
        ("host=h dbname=db", "host=h dbname=db"),
        (f"host=h password={SECRET} dbname=db", "host=h password=*** dbname=db"),
        (f"host=h PASSWORD = '{SECRET} \\' x' dbname=db", "host=h PASSWORD = *** dbname=db"),
        (f"password=a\\ {SECRET} host=h", "password=*** host=h"),
        (f"password='{SECRET}", "password=***"),
    ],
)
def test_masked_url(url: str, shown: str) -> None:
    assert masked_url(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}@h/db",
        f"postgresql://u:a@{SECRET}@h/db",
        f"postgresql://u:1/{SECRET}@h/db",
        f"postgresql://u:a?{SECRET}@h/db",
        f"postgresql://u:a:{SECRET}#@h/db",
        f"postgresql://h/db?password={SECRET}",
        f"host=h password=x&{SECRET}",
    ],
)
def test_no_password_in_any_text_of_the_settings(url: str) -> None:
    settings = Settings.from_env({"WINDLASS_DATABASE_URL": url, "WINDLASS_LISTEN_URL": url})
    assert settings.database_url == url
    for shown in (repr(settings), str(settings), f"{settings}", repr([settings])):
        assert SECRET not in shown
        assert "***" in shown


@pytest.mark.parametrize("url", [f"mysql://u:{SECRET}@h/db", SECRET, f"postgresql://u:{SECRET}@h/db\x00"])
def test_no_password_in_a_refusal(url: str) -> None:
    with pytest.raises(InvalidInput, match="WINDLASS_DATABASE_URL must") as caught:
        Settings.from_env({"WINDLASS_DATABASE_URL": url})
    assert SECRET not in str(caught.value) + repr(caught.value.details)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    with pytest.raises(ValidationError) as plain:
        Settings(database_url=url)
    assert SECRET not in str(plain.value)


def test_settings_of_equal_content_are_equal() -> None:
    environ: dict[str, Any] = {"WINDLASS_NODE_NAME": "n"}
    assert Settings.from_env(environ) == Settings.from_env(environ)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("postgresql://u:hunter2@h:notaport/db", "has a port that is no number from 1 to 65535"),
        ("postgresql://u@h:5432,h2:65536/db", "has a port"),
        ("postgresql://u:hunter2@odd:hunter2@h/db", "has a port"),  # an @ that should have been %40
        ("postgresql://u:a/hunter2@h/db", "has a port"),
        ("postgresql:///db?host=/tmp&port=x", "has a port"),
        ("host=h port='5432,zero' password=hunter2", "has a port"),
        ("postgresql://u@h/db?sslmode=bogus", "has a sslmode that is none of disable, allow, prefer"),
        ("host=h sslmode = 'verify_full'", "has a sslmode"),
        ("postgresql://u@h/db?target_session_attrs=rw", "has a target_session_attrs that is none of any"),
        ("postgresql://u@h/db?connect_timeout=soon", "has a connect_timeout that is no whole number"),
    ],
)
def test_an_address_that_cannot_be_right_is_refused(url: str, fault: str) -> None:
    for variable in ("WINDLASS_DATABASE_URL", "WINDLASS_LISTEN_URL"):
        with pytest.raises(InvalidInput, match=f"^{variable} {fault}") as caught:
            Settings.from_env({variable: url})
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://",
        "postgresql:///db?host=%2Ftmp&port=6432",
        "postgresql://u:a?b:c@[::1]:5432,h,[fe80::1]:6432/db?sslmode=verify-full&connect_timeout=5",
        "postgres://u:p%40x@h:/db?sslmode=",
        "postgresql://h?options=-c%20search_path%3Dx",
        r"host=h port=5432,,6432 password='it\'s port=x' sslmode=require",
    ],
)
def test_an_address_that_libpq_would_take_is_taken(url: str) -> None:
    conninfo_to_dict(url)
    assert Settings.from_env({"WINDLASS_DATABASE_URL": url}).database_url == url
