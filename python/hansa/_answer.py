"""Answers: which run, setting or entrant is best, at what price, and for whom."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._numbers import paragraph, table

if TYPE_CHECKING:
    import pandas as pd

#: Signs behind cells, as on a terminal.
_SIGNS = {"best": "*", "better": "+", "worse": "−"}


class Answer:
    """The answer that a comparison begins with: a sentence, and tables. A notebook shows all of it."""

    def __init__(self, json: dict[str, Any], settings: str = "") -> None:
        #: The whole answer, as `answer.json` and `hansa compare --json` have it.
        self.json = json
        #: The setting that this answer is for, if there are answers for several.
        self.settings = settings
        #: The metric that decides.
        self.by: str = json["by"]
        #: The result, in one sentence.
        self.verdict: str = json["verdict"]
        #: Sentences on work that was not the same.
        self.warnings: list[str] = json["warnings"]
        #: Sentences on the price of the best in other families of metrics, and on significance.
        self.remarks: list[str] = json["remarks"]

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """Frames by name: "answer" (means and differences), "work" (jobs by their ends) and "for_whom" (means by group of jobs), as far
        as there are numbers for them. Cells are numbers where the text of a cell is one."""
        import pandas as pd

        return {
            one["name"]: pd.DataFrame([_values(row, one["rows"]) for row in one["rows"]], columns=one["columns"])
            for one in self.json["tables"]
        }

    def __str__(self) -> str:
        return "\n".join([*([self.settings] if self.settings else []), self.verdict, *self.warnings, *self.remarks])

    def __repr__(self) -> str:
        return f"<Answer: {self.verdict}>"

    def _repr_html_(self) -> str:
        title = f"<h4>{html.escape(self.settings)}</h4>" if self.settings else ""
        parts = [title, f"<p><b>{html.escape(self.verdict)}</b></p>"]
        parts += [paragraph(f"Warning: {text}") for text in self.warnings]
        parts += [paragraph(text) for text in self.remarks]
        for one in self.json["tables"]:
            labels = sum(1 for place in range(len(one["columns"])) if _is_label(place, one["rows"]))
            rows = [[cell["text"] + _SIGNS.get(cell["mark"] or "", "") for cell in row] for row in one["rows"]]
            parts.append(f"<h4>{html.escape(one['title'])}</h4>" + table(one["columns"], rows, left=labels))
            parts += [paragraph(note) for note in one["notes"]]
        parts.append(paragraph("* best, or not significantly different from the best; + significantly better, − significantly worse."))
        return "\n".join(parts)


def _is_label(place: int, rows: Sequence[Sequence[dict[str, Any]]]) -> bool:
    """True if no cell of a column is a number."""
    return all(row[place]["number"] is None for row in rows)


def _values(row: Sequence[dict[str, Any]], rows: Sequence[Sequence[dict[str, Any]]]) -> list[Any]:
    return [cell["text"] if _is_label(place, rows) else cell["number"] for place, cell in enumerate(row)]
