"""Commands that are started without a standard stream, as by a service or a script with `2>&-`."""

import signal
from pathlib import Path
from uuid import UUID

import pytest

from tests.integration.command import APPLICATION, PATIENCE, Answer, Command, eventually
from tests.support import Database

TENANT = "00000000-0000-7000-8000-000000000001"


@pytest.fixture
def windlass(db: Database, tmp_path: Path) -> Command:
    (tmp_path / "shop.py").write_text(APPLICATION)
    return Command(tmp_path, db.url())


def run(windlass: Command, closing: str, *words: object) -> Answer:
    with windlass.redirected(closing, *words) as child:
        out, err = child.communicate(timeout=PATIENCE)
        return Answer(child.returncode, out, err)


def test_an_enqueue_without_standard_error_says_its_id(windlass: Command) -> None:
    answer = run(windlass, "2>&-", "enqueue", "add", "{}").ok()
    assert str(UUID(answer.out.strip())) == answer.out.strip()


def test_an_answer_that_nobody_can_read_is_no_error(windlass: Command) -> None:
    for words in (["enqueue", "add"], ["jobs", "list"], ["jobs", "list", "--json"], ["--help"]):
        assert run(windlass, ">&-", *words) == Answer(0, "", "")
    assert run(windlass, "<&- >&- 2>&-", "jobs", "list") == Answer(0, "", "")
    assert run(windlass, ">&- 2>&-", "no-such-command").code == 2


def test_without_standard_input_there_is_nothing_to_read(windlass: Command) -> None:
    answer = run(windlass, "<&-", "enqueue", "add", "-")
    assert (answer.code, answer.out) == (6, "")
    assert "the payload on standard input is not JSON" in answer.err
    answer = run(windlass, "<&-", "jobs", "redrive", "--all")
    assert "internal" not in answer.err
    assert answer == run(windlass, "</dev/null", "jobs", "redrive", "--all")


@pytest.mark.parametrize("closing", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_worker_without_standard_streams_runs_jobs_and_ends_in_order(
    db: Database, windlass: Command, closing: str
) -> None:
    with windlass.redirected(closing, "worker", "shop:app") as child:
        try:
            enqueue = "select job_id from windlass.enqueue_job(%s, 'rest', '{\"seconds\": 0}')"
            job_id = db.fetch_value(enqueue, TENANT)
            state = "select state::text from windlass.get_job(%s, %s)"
            eventually(
                lambda: child.poll() is not None or db.fetch_value(state, TENANT, job_id) == "succeeded",
                "the job is done",
            )
            assert child.poll() is None, child.communicate()
            child.send_signal(signal.SIGTERM)
            assert child.wait(timeout=PATIENCE) == 0
        finally:
            child.kill()
