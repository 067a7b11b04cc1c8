"""The SQL that this release ships, read from its files and checked before any of it runs.

`migrations/NNNN_what.sql` changes state; a first line `-- windlass: no-transaction` sets a file apart.
`code/<noun>/<function>.sql` is one routine or view with its comment.  Its header lines say with whose
rights it runs, `-- definer: owner|engine|none` (none: the caller's), who may call it,
`-- grant: producer, worker` (helpers, whose names begin with an underscore, have no such line) and,
where the order of creation matters, `-- windlass: after <noun>/<function>`.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from importlib.resources.abc import Traversable

from windlass.errors import InvalidInput

__all__ = ["CODE", "GROUP_ROLES", "CodeFile", "Migration", "SqlSource", "load"]

GROUP_ROLES = ("producer", "worker", "operator", "reader")
DEFINERS = ("owner", "engine", "none")
CODE = "code"  # the name under which the digest of code/ is recorded beside the migrations

_MIGRATION_NAME = re.compile(r"\d{4}_[a-z0-9_]+\.sql")
_HEADER = re.compile(r"--\s*(definer|grant|windlass):\s*(.*?)\s*")
_DEFINITION = re.compile(
    r"\bcreate\s+(?:or\s+replace\s+)?(function|procedure|view)\s+([a-z0-9_.\"]+)", re.IGNORECASE
)
_OPAQUE = re.compile(r"--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Migration:
    """One change of state: its name without `.sql`, its text and the hash recorded for it."""

    name: str
    text: str
    sha256: str
    transactional: bool


@dataclass(frozen=True, slots=True)
class CodeFile:
    """One routine or view of the schema `windlass`."""

    path: str
    name: str
    is_view: bool
    text: str
    definer: str
    grants: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SqlSource:
    """Everything under one sql directory, in the order in which it is applied."""

    roles: str
    migrations: tuple[Migration, ...]
    code: tuple[CodeFile, ...]
    code_digest: str


def load(source: Traversable | None = None) -> SqlSource:
    """Read and check an sql directory; without an argument, the one inside the package."""
    root = files("windlass") / "sql" if source is None else source
    code = _ordered([_code_file(noun, file) for noun, file in _code_paths(root)])
    digest = hashlib.sha256()
    for file in sorted(code, key=lambda file: file.path):
        digest.update(f"{file.path}\n{len(file.text)}\n{file.text}".encode())
    return SqlSource(_read(root / "roles.sql"), tuple(_migrations(root)), code, digest.hexdigest())


def _read(file: Traversable) -> str:
    return file.read_bytes().decode().replace("\r\n", "\n")


def _sql_files(directory: Traversable) -> list[Traversable]:
    if not directory.is_dir():
        return []
    return sorted(
        (file for file in directory.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name
    )


def _migrations(root: Traversable) -> Iterator[Migration]:
    numbers: set[str] = set()
    for file in _sql_files(root / "migrations"):
        if not _MIGRATION_NAME.fullmatch(file.name):
            raise InvalidInput(f"migrations/{file.name}: a migration is called NNNN_what.sql")
        if file.name[:4] in numbers:
            raise InvalidInput(f"migrations/{file.name}: the number {file.name[:4]} is used twice")
        numbers.add(file.name[:4])
        text = _read(file)
        directives = [value for key, value in _headers(text) if key == "windlass"]
        if directives not in ([], ["no-transaction"]):
            raise InvalidInput(f"migrations/{file.name}: unknown header 'windlass: {', '.join(directives)}'")
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        yield Migration(file.name.removesuffix(".sql"), text, sha256, transactional=not directives)


def _code_paths(root: Traversable) -> Iterator[tuple[str, Traversable]]:
    code = root / "code"
    if not code.is_dir():
        return
    for noun in sorted((entry for entry in code.iterdir() if entry.is_dir()), key=lambda entry: entry.name):
        for file in _sql_files(noun):
            yield noun.name, file


def _headers(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if line.strip() and not line.startswith("--"):
            return
        if match := _HEADER.fullmatch(line):
            yield match[1], match[2]


def _code_file(noun: str, file: Traversable) -> CodeFile:
    text, name = _read(file), file.name.removesuffix(".sql")
    where = f"code/{noun}/{file.name}"
    definer: str | None = None
    grants: tuple[str, ...] = ()
    after: list[str] = []
    for key, value in _headers(text):
        if key == "windlass" and value.startswith("after "):
            after += _words(value.removeprefix("after "))
        elif key == "definer" and definer is None and value in DEFINERS:
            definer = value
        elif key == "grant" and not grants and value and set(_words(value)) <= set(GROUP_ROLES):
            grants = tuple(_words(value))
        else:
            raise InvalidInput(f"{where}: unknown, repeated or wrong header '{key}: {value}'")
    if definer is None:
        raise InvalidInput(f"{where}: the header '-- definer: owner', 'engine' or 'none' is missing")
    if bool(grants) == name.startswith("_"):
        raise InvalidInput(
            f"{where}: a helper begins with '_' and has no '-- grant:' line, all others have one"
        )
    is_view = _is_view(where, name, text)
    if _runs_as_caller(text, is_view) != (definer == "none"):
        raise InvalidInput(f"{where}: 'definer: {definer}' is not what the definition says")
    return CodeFile(f"{noun}/{name}", name, is_view, text, definer, grants, tuple(after))


def _words(value: str) -> list[str]:
    return [word.strip() for word in value.split(",")]


def _runs_as_caller(text: str, is_view: bool) -> bool:
    words = " ".join(_OPAQUE.sub(" ", text).lower().split())
    return "security_invoker" in words if is_view else "security definer" not in words


def _is_view(where: str, name: str, text: str) -> bool:
    found = _DEFINITION.findall(_OPAQUE.sub(" ", text))
    if [defined for _, defined in found] != [f"windlass.{name}"]:
        raise InvalidInput(f"{where}: the file must define windlass.{name}, once, and nothing else")
    return bool(found[0][0].lower() == "view")


def _ordered(code: Iterable[CodeFile]) -> tuple[CodeFile, ...]:
    """Routines by path, then views by path, except where `after` asks for another order."""
    by_path = {file.path: file for file in sorted(code, key=lambda file: (file.is_view, file.path))}
    names = [file.name for file in by_path.values()]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidInput(f"code/: defined in more than one file: {', '.join(sorted(twice))}")
    for file in by_path.values():
        if unknown := set(file.after) - set(by_path):
            raise InvalidInput(f"code/{file.path}.sql: unknown file in 'after': {', '.join(sorted(unknown))}")
    rank = {path: place for place, path in enumerate(by_path)}
    graph = TopologicalSorter({path: file.after for path, file in by_path.items()})
    try:
        graph.prepare()
    except CycleError as error:
        raise InvalidInput(f"code/: 'after' lines form a circle: {' -> '.join(error.args[1])}") from error
    ordered: list[CodeFile] = []
    waiting: list[str] = []
    while graph.is_active():
        waiting = sorted([*waiting, *graph.get_ready()], key=rank.__getitem__)
        path = waiting.pop(0)
        ordered.append(by_path[path])
        graph.done(path)
    return tuple(ordered)
