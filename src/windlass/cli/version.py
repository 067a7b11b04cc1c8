"""`windlass version`: what is installed here."""

import platform
from importlib import metadata

import windlass
from windlass.cli.options import AsJson
from windlass.cli.output import print_json, say
from windlass.cli.tree import single

app = single()


@app.command()
def version(as_json: AsJson = False) -> None:
    """Print the version of Windlass, and of what it stands on.

    Example:
      windlass version --json | jq -r .windlass
    """
    found = {
        "windlass": windlass.__version__,
        "python": platform.python_version(),
        "psycopg": _version("psycopg"),
        "platform": platform.platform(),
    }
    if as_json:
        print_json(found)
        return
    say(f"windlass {found['windlass']} (Python {found['python']}, psycopg {found['psycopg']})")


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"
