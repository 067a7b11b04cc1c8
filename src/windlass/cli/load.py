"""Find the application that a command line names as `module:app`."""

import importlib
import sys
from pathlib import Path

from windlass.app import Windlass
from windlass.errors import InvalidInput
from windlass.model.names import with_article

__all__ = ["load_app"]


def load_app(name: str) -> Windlass:
    """The Windlass object behind `module:app`; the module may lie in the current directory."""
    module_name, colon, path = name.partition(":")
    if module_name.endswith(".py") or "/" in module_name:
        parts = Path(module_name.removesuffix(".py")).parts
        meant = ".".join(part for part in parts if part not in (".", "/"))
        raise InvalidInput(
            f"{module_name!r} is a file, and an application is named by its module: {meant}:{path or 'app'}",
            hint="Modules are looked for in the current directory and on Python's path.",
        )
    if not (module_name and colon and path):
        raise InvalidInput(f"{name!r} does not name an application: write module:app, as in shop.jobs:app")
    found: object = _import(module_name)
    for part in path.split("."):
        if not hasattr(found, part):
            raise InvalidInput(f"the module {module_name} has no {path!r}{_instead(module_name)}")
        found = getattr(found, part)
    if not isinstance(found, Windlass):
        raise InvalidInput(
            f"{name} is {with_article(type(found).__name__)}, not a Windlass object{_instead(module_name)}"
        )
    return found


def _import(name: str) -> object:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise InvalidInput(
                f"there is no module {error.name}; it was looked for in {here} and on Python's path"
            ) from error
        raise InvalidInput(f"the module {name} needs {error.name}, which is not installed") from error
    except Exception as error:
        raise InvalidInput(
            f"the module {name} cannot be imported: {type(error).__name__}: {error}",
            hint="Run it again with --debug to see where.",
        ) from error


def _instead(module_name: str) -> str:
    there = [name for name, value in vars(sys.modules[module_name]).items() if isinstance(value, Windlass)]
    return f"; there is {', '.join(f'{module_name}:{name}' for name in there)}" if there else ""
