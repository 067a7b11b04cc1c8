"""Functions and tables that a caller puts in the way are never taken for ours."""

import pytest

from tests.sql.steps import DEFAULT_TENANT, UNKNOWN, Session, refused
from tests.sql.surface import arguments, fitted, public_functions
from tests.support import Database

pytestmark = pytest.mark.every_version

# Whatever a caller can put in the way: each shadow writes down as whom it ran.
SHADOWS = """
create schema attack;
create table attack.ran (as_whom name);
grant usage on schema attack to public;
grant insert on attack.ran to public;
create function attack.note() returns void language sql as 'insert into attack.ran values (current_user)';
create function attack.clock_timestamp() returns timestamptz language plpgsql as
  $$ begin perform attack.note(); return '1999-01-01Z'; end $$;
create function attack.current_setting(text, boolean) returns text language plpgsql as
  $$ begin perform attack.note(); return '00000000-0000-7000-8000-000000000002'; end $$;
create function attack.set_config(text, text, boolean) returns text language plpgsql as
  $$ begin perform attack.note(); return $2; end $$;
create function attack.nextval(regclass) returns bigint language plpgsql as
  $$ begin perform attack.note(); return 1; end $$;
create function attack.same(uuid, uuid) returns boolean language plpgsql as
  $$ begin perform attack.note(); return true; end $$;
create operator attack.= (leftarg = uuid, rightarg = uuid, procedure = attack.same);
create function attack.before(timestamptz, timestamptz) returns boolean language plpgsql as
  $$ begin perform attack.note(); return true; end $$;
create operator attack.<= (leftarg = timestamptz, rightarg = timestamptz, procedure = attack.before);
create table attack.job as select * from windlass_data.job;
create table attack.tenant as select * from windlass_data.tenant;
grant all on all tables in schema attack to public;
"""
TEMPORARY = """
create temp table job (id uuid);
create temp table ready (id uuid);
create temp table tenant (id uuid);
create type pg_temp.new_job as (x int);
create function pg_temp.clock_timestamp() returns timestamptz language plpgsql as
  $$ begin perform attack.note(); return '1999-01-01Z'; end $$;
create function pg_temp._enter_tenant(uuid) returns text language plpgsql as
  $$ begin perform attack.note(); return ''; end $$;
set search_path = attack, pg_temp, windlass, windlass_data, pg_catalog;
"""


def test_nothing_that_a_caller_puts_in_the_way_is_run(db: Database, jobs: Session, other: Session) -> None:
    db.execute(SHADOWS, role="superuser")
    conn = db.connect()
    conn.execute(TEMPORARY.encode())
    caught = Session(conn)
    caught.call("select attack.clock_timestamp()")
    assert db.fetch("select * from attack.ran", role="superuser") == [("windlass_app",)], "the control"
    db.execute("truncate attack.ran", role="superuser")

    job_id, gone = caught.enqueue(key="k", run_at="2000-01-01Z"), caught.enqueue("gone")
    theirs = other.enqueue("theirs")
    assert caught.cancel(gone) == "canceled"
    held = caught.claim_one(kinds=["mail"])
    assert held.job_id == job_id
    assert caught.renew(held.token) == []
    assert [row.code for row in caught.release(held)] == ["ok"]
    assert caught.complete(caught.claim_one(kinds=["mail"])) == []
    caught.expire()
    assert caught.state(job_id) == "succeeded"
    assert caught.get(job_id).created_at.year > 1999
    with refused("WL001"):
        caught.get(theirs)
    given = arguments(job_id=job_id, token=held.token, gate=UNKNOWN, slug="default")
    for function in public_functions(db):
        function.call(conn, **fitted(function, {**given, "p_tenant": DEFAULT_TENANT}))
    assert db.fetch("select distinct as_whom from attack.ran", role="superuser") == []
