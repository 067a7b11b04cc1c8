"""Sessions of ours work in read committed, whatever the default of their login or database.

In an older snapshot Windlass does not see where jobs stand by now: retention refuses to work there, and
lanes, keys and limits wait.  It is said as the session starts, which costs no round trip and stays with it.
"""

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["in_read_committed", "unless_refused"]

_OPTION = "-c default_transaction_isolation=read\\ committed"
# PgBouncer and others of its kind take no options: what is behind one that nobody told us of still works.
_REFUSED = re.compile("startup parameter|command-line options", re.IGNORECASE)


def in_read_committed(given: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The libpq keyword that says so, after whatever else is set by options.

    Not beside a service: what its file has of options would be lost.
    """
    if "service" in given or "PGSERVICE" in environ:
        return {}
    return {"options": f"{given.get('options', environ.get('PGOPTIONS', ''))} {_OPTION}".strip()}


def unless_refused(error: Exception, parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """The same parameters without ours, if it is ours that was refused; None if it was not."""
    options = str(parameters.get("options") or "")
    if not options.endswith(_OPTION) or not _REFUSED.search(str(error)):
        return None
    rest = options.removesuffix(_OPTION).strip()
    kept = {name: value for name, value in parameters.items() if name != "options"}
    return {**kept, "options": rest} if rest else kept
