"""Writes what was measured into docs/performance.md, between its marks, and draws the pictures."""

import re
from collections.abc import Callable
from pathlib import Path

from bench.process import ROOT
from bench.report.parts import PARTS
from bench.report.pictures import PICTURES
from bench.results import Results

__all__ = ["fill", "render"]

DOCUMENT = ROOT / "docs" / "performance.md"
IMAGES = ROOT / "docs" / "images"
_MARKED = re.compile(r"(<!-- bench:(\w+) -->\n).*?(<!-- /bench -->)", re.DOTALL)


def render(results: Results, document: Path = DOCUMENT, images: Path = IMAGES) -> list[Path]:
    """The files that were written."""
    drawn = {name: draw(results) for name, draw in PICTURES.items()}
    images.mkdir(parents=True, exist_ok=True)
    written = []
    for name, picture in drawn.items():
        if picture is None:
            (images / name).unlink(missing_ok=True)  # it would show another run than the page
        else:
            (images / name).write_text(picture)
            written.append(images / name)
    pictures = [name for name, picture in drawn.items() if picture is not None]
    document.write_text(fill(document.read_text(), results, pictures))
    return [document, *written]


def fill(text: str, results: Results, pictures: list[str]) -> str:
    """The document with each marked place written anew; what stands outside of them stays."""

    def write(match: re.Match[str]) -> str:
        make: Callable[[Results, list[str]], str] = PARTS[match[2]]
        return f"{match[1]}{make(results, pictures).strip()}\n{match[3]}"

    return _MARKED.sub(write, text)
