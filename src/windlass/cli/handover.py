"""What the commands that hand over a job do alike: read its payload, and tell what became of it."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from windlass.cli.output import note, print_json, say
from windlass.cli.progress import waiting
from windlass.cli.text import pretty
from windlass.client import SyncJobHandle
from windlass.errors import InvalidInput
from windlass.model.names import shown

__all__ = ["note_taken", "read_payload", "tell"]

_HINT = (
    """Names and text have double quotes, and the shell wants single ones around it all: '{"name": "Ada"}'."""
)


def read_payload(text: str, source: str = "the payload") -> Any:
    """The payload that the word stands for; InvalidInput if it is not JSON."""
    if text == "-":
        text, source = sys.stdin.read(), f"{source} on standard input"
    try:
        return json.loads(text, object_pairs_hook=_without_repetition)
    except KeyError as error:
        raise InvalidInput(f"{source} names {shown(error.args[0])} twice in one object") from None
    except RecursionError:
        raise InvalidInput(f"{source} is nested too deeply") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, character {error.colno}"
        raise InvalidInput(f"{source} is not JSON from {where} on: {_excerpt(error)}", hint=_HINT) from None
    except ValueError:
        raise InvalidInput(f"{source} holds a number that is too long to be read") from None


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; a name that stands there twice was hardly meant so, and only its last value would stay."""
    found = dict(pairs)
    if len(found) < len(pairs):
        left = [name for name, _ in pairs]
        raise KeyError(next(name for name in found if left.count(name) > 1))
    return found


def _excerpt(error: json.JSONDecodeError) -> str:
    """What stands where the trouble begins."""
    rest = error.doc[error.pos :].partition("\n")[0]
    return f"{rest[:20]!r}" if rest else "it ends too early"


def note_taken(handle: SyncJobHandle[Any], key: str | None) -> None:
    """That the key found a job which was there before, if it did."""
    if not handle.created:
        note(f"the key {key!r} is taken: this is the job that was there before")


def tell(
    handle: SyncJobHandle[Any],
    kind: str,
    facts: Mapping[str, object],
    *,
    wait: bool,
    wait_timeout: float | None,
    as_json: bool,
) -> None:
    """Print the job's id, or wait for its end and print the result; as JSON with all that is known of it."""
    document = {"id": handle.id, "tenant_id": handle.tenant_id, "created": handle.created, **facts}
    shown = str(handle.id)
    if wait:
        if not as_json:
            note(f"job {handle.id}")
        with waiting(f"waiting for {kind}"):
            result = handle.wait(timeout=wait_timeout)
        document |= {"state": "succeeded", "result": result}
        shown = pretty(result)
    if as_json:
        print_json(document)
    else:
        say(shown)
