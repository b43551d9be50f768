"""Numbers, durations and shares as people read them: what the program prints."""

from __future__ import annotations

import html
import pathlib
import urllib.parse
from collections.abc import Iterable, Sequence


def count(number: int) -> str:
    """A whole number with commas between thousands."""
    return f"{number:,}"


def percent(share: float) -> str:
    """A share of one as `75.0 %`."""
    return f"{share * 100:.1f} %"


def span(seconds: float) -> str:
    """Seconds in the two units that say most."""
    whole = int(seconds + 0.5)
    if whole < 60:
        return f"{seconds * 1e3:.3g} ms" if 0 < seconds < 0.01 else f"{round(seconds, 2):g} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86_400:
        return f"{whole // 3_600} h {whole // 60 % 60:02} min"
    return f"{whole // 86_400:,} d {whole // 3_600 % 24:02} h"


def signed_span(seconds: float) -> str:
    """A difference of durations in seconds, with its sign."""
    size = span(abs(seconds))
    if not any(digit in "123456789" for digit in size):
        return size
    return f"−{size}" if seconds < 0 else f"+{size}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table for notebooks. Cells are text; the first `left` columns are set to the left."""

    def line(tag: str, cells: Sequence[str]) -> str:
        def cell(place: int, text: str) -> str:
            side = "left" if place < left else "right"
            # A quantity is not broken from its unit.
            return f'<{tag} style="text-align:{side};white-space:nowrap">{html.escape(text)}</{tag}>'

        return f"<tr>{''.join(cell(place, text) for place, text in enumerate(cells))}</tr>"

    return f"<table><thead>{line('th', heads)}</thead><tbody>{''.join(line('td', row) for row in rows)}</tbody></table>"


def paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def link(path: pathlib.Path) -> str:
    """A paragraph with a link to a file: relative for one below the working directory, which is where notebooks look."""
    path = path.absolute()
    here = pathlib.Path.cwd()
    target = urllib.parse.quote(str(path.relative_to(here))) if path.is_relative_to(here) else path.as_uri()
    return f'<p><a href="{html.escape(target)}" target="_blank">{html.escape(path.name)}</a></p>'
