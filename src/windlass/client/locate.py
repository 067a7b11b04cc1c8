"""Where a client finds its database when no URL is given: at an embedded server that runs already."""

import os
from pathlib import Path
from urllib.parse import quote

from windlass.db.embedded.bootstrap import APP, DATABASE
from windlass.db.embedded.home import Home, State, default_data_dir
from windlass.db.embedded.locks import is_held
from windlass.errors import SchemaMismatch, Unavailable
from windlass.settings import Settings

__all__ = ["database_url", "programs_dir", "require_database"]


def database_url(settings: Settings) -> str:
    """The URL of the settings, else that of the running embedded server; a client never starts one."""
    if settings.database_url is not None:
        return settings.database_url
    home = _home(settings)
    state = _running(home)
    if state is None:
        raise Unavailable(
            f"no database is given and no embedded server runs in {home.root}: set WINDLASS_DATABASE_URL, "
            "or start one with `windlass up`",
            lasting=True,
        )
    host = quote(state.socket_dir, safe="/")
    return f"postgresql://{APP}@/{DATABASE}?host={host}&port={state.port}"


def programs_dir(settings: Settings) -> Path | None:
    """Where the programs of that embedded server are, such as psql; None for a database that was named."""
    state = _running(_home(settings)) if settings.database_url is None else None
    return None if state is None else Path(state.bin_dir)


def require_database(settings: Settings) -> None:
    """SchemaMismatch where none is named and the embedded server has none yet; looking makes none."""
    if settings.database_url is None and (home := _home(settings)).data_major() is None:
        raise SchemaMismatch(f"there is no database yet in {home.root}: `windlass migrate` makes one")


def _home(settings: Settings) -> Home:
    return Home(Path(os.path.realpath((settings.data_dir or default_data_dir()).expanduser())))


def _running(home: Home) -> State | None:
    """How to reach the server of `home`, if one runs; looking leaves no trace."""
    try:
        if not home.server_lock.exists() or not is_held(home.server_lock):
            return None
        return home.read_state()
    except OSError as error:
        raise Unavailable(f"the embedded server in {home.root} is not ours to use: {error}") from error
