"""Results side by side."""

from __future__ import annotations

import json
import pathlib
from typing import TYPE_CHECKING, Any, Union

from ._answer import Answer
from ._numbers import count, paragraph, percent, signed_span, span, table
from ._program import HansaError, Path, call
from ._run import Run

if TYPE_CHECKING:
    import pandas as pd


class Comparison:
    """Results side by side; the first one is the reference of all differences and ratios."""

    def __init__(self, comparison: dict[str, Any], runs: tuple[Run, ...]) -> None:
        #: The whole comparison, as `hansa compare --json` prints it.
        self.json = comparison
        #: The compared runs.
        self.runs = runs
        #: One sentence per other result.
        self.verdicts: list[str] = comparison["verdicts"]
        #: Sentences on results that cannot be compared without reserve.
        self.notes: list[str] = comparison["notes"]
        #: The answer: which run is best, at what price, and for whom; None if these are not runs of the same jobs.
        self.answer = Answer(comparison["answer"]) if comparison["answer"] is not None else None

    @property
    def metrics(self) -> pd.DataFrame:
        """One row per metric: the value in each result (`A`, `B`, ...), then `B - A` and `B / A` for each other result."""
        import pandas as pd

        letters = self._letters()
        rows = []
        for metric in self.json["metrics"]:
            row = {"metric": metric["name"], "unit": metric["unit"], "better": metric["better"]}
            row.update(zip(letters, metric["values"]))
            for letter, difference, ratio in zip(letters[1:], metric["differences"], metric["ratios"]):
                row.update({f"{letter} - A": difference, f"{letter} / A": ratio})
            rows.append(row)
        return pd.DataFrame(rows).set_index("metric")

    @property
    def settings(self) -> pd.DataFrame:
        """One row per key that differs, with its value in each result."""
        import pandas as pd

        rows = [[setting["key"], *setting["values"]] for setting in self.json["settings"]]
        return pd.DataFrame(rows, columns=["key", *self._letters()]).set_index("key")

    @property
    def jobs(self) -> pd.DataFrame:
        """The jobs that changed most: their turnaround in the first and in another result, in seconds."""
        import pandas as pd

        columns = ["result", "job", "user", "submitted", "cores", "first", "other", "difference"]
        rows = [{"result": jobs["result"], **change} for jobs in self.json["jobs"] for change in jobs["largest"]]
        return pd.DataFrame(rows, columns=columns)

    def page(self, path: Path) -> pathlib.Path:
        """Writes the comparison as a page to read, and returns its path."""
        call(["--quiet", "compare", *(str(run.out) for run in self.runs), "--json", "--page", str(path)])
        return pathlib.Path(path)

    def _letters(self) -> list[str]:
        return [result["result"] for result in self.json["results"]]

    def __repr__(self) -> str:
        return f"<Comparison of {len(self.runs)} runs: {' '.join(self.verdicts)}>"

    def _repr_html_(self) -> str:
        letters = self._letters()
        results = table(
            ["", "topology", "seed", "jobs", "status", "digest"],
            [
                [
                    result["result"],
                    result["topology"],
                    str(result["seed"]),
                    count(result["jobs"]),
                    result["status"],
                    result["digest"],
                ]
                for result in self.json["results"]
            ],
            left=2,
        )
        answer = [self.answer._repr_html_()] if self.answer is not None else []
        parts = [results, *answer, *(paragraph(text) for text in self.verdicts), *(paragraph(f"Note: {note}.") for note in self.notes)]
        if self.json["settings"]:
            rows = [[setting["key"], *(value or "–" for value in setting["values"])] for setting in self.json["settings"][:20]]
            parts.append(table(["setting", *letters], rows))
        parts.append(self._metrics_table(letters))
        for jobs in self.json["jobs"]:
            parts.extend(self._jobs_tables(jobs))
        return "\n".join(parts)

    def _metrics_table(self, letters: list[str]) -> str:
        heads = ["metric", "unit", letters[0]]
        for letter in letters[1:]:
            heads += [letter, f"{letter} − A", f"{letter} / A"]
        rows = []
        for metric in self.json["metrics"]:
            if len(set(metric["values"])) == 1 or metric["name"].rpartition("_")[2].isdigit():
                continue
            text = metric["text"]
            row = [metric["name"], metric["unit"], text["values"][0]]
            for value, difference, ratio in zip(text["values"][1:], text["differences"], text["ratios"]):
                row += [value, difference.replace("-", "−"), ratio]
            rows.append(row)
        return table(heads, rows, left=2)

    def _jobs_tables(self, jobs: dict[str, Any]) -> list[str]:
        parts = []
        rows = []
        for quantity in jobs["quantities"]:
            all_jobs = quantity["better"] + quantity["worse"] + quantity["same"]
            shares = [f"{count(quantity[key])} ({percent(quantity[key] / all_jobs)})" for key in ("better", "worse", "same")]
            mean = f"{quantity['mean']:+.3g}" if quantity["name"] == "value" else signed_span(quantity["mean"])
            rows.append([f"{quantity['name']}, {quantity['about']}", *shares, mean])
        if rows:
            parts.append(table([f"jobs, {jobs['result']} against A", "better", "worse", "same", "mean change"], rows))
        if jobs["largest"]:
            heads = ["largest changes: job", "user", "submitted at", "A", jobs["result"], "change"]
            rows = [
                [
                    change["job"],
                    change["user"],
                    span(change["submitted"]),
                    span(change["first"]),
                    span(change["other"]),
                    signed_span(change["difference"]),
                ]
                for change in jobs["largest"]
            ]
            parts.append(table(heads, rows, left=2))
        return parts


def compare(*runs: Union[Run, Path]) -> Comparison:
    """Compares two or more results: runs, or result folders. The first one is the reference."""
    if len(runs) < 2:
        raise ValueError(f"expected two or more results, but there are {len(runs)}")
    loaded = tuple(run if isinstance(run, Run) else Run(run) for run in runs)
    folders = [str(run.out) for run in loaded]
    try:
        printed = call(["--quiet", "compare", "--json", *folders])
    except HansaError as error:
        raise HansaError(_of_objects(str(error), runs, loaded), error.code) from None
    return Comparison(json.loads(printed), loaded)


def _of_objects(message: str, given: tuple[Union[Run, Path], ...], loaded: tuple[Run, ...]) -> str:
    """The message with runs named as arguments of the call; their folders may be temporary."""
    # The longest first: one path may begin with another.
    named = [(str(run.out), number) for number, (one, run) in enumerate(zip(given, loaded), 1) if isinstance(one, Run)]
    for folder, number in sorted(named, key=lambda name: -len(name[0])):
        message = message.replace(folder, f"run {number}")
    return message
