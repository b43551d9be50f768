"""Many runs, one row each."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ._allocator import Allocator
from ._answer import Answer
from ._bidder import Bidder
from ._numbers import link, paragraph, table
from ._objects import Objects
from ._planner import Planner
from ._program import HansaError, Path, Value, check, explain, quoted, start, written
from ._scheduler import Scheduler

if TYPE_CHECKING:
    import pandas as pd


class Sweep:
    """The rows of a sweep."""

    def __init__(self, out: Path, kept: object = None) -> None:
        import pandas as pd

        #: The folder with `runs.csv` and `sweep.json`.
        self.out = pathlib.Path(out)
        self._kept = kept
        #: One row per run: what varied, the metrics, and the digest.
        self.runs: pd.DataFrame = pd.read_csv(self.out / "runs.csv", dtype={"digest": "string"})

    @property
    def means(self) -> pd.DataFrame:
        """One row per metric of each combination of what varies, but for seeds: `runs`, `mean`, and `within`, half the width of the 95 %
        confidence interval."""
        import pandas as pd

        return pd.read_csv(self.out / "means.csv")

    @property
    def answers(self) -> list[Answer]:
        """What is best, at what price, and for whom: an answer for each combination of the keys that do not contend. Empty if nothing
        contends."""
        try:
            panels = json.loads((self.out / "answer.json").read_text())["panels"]
        except FileNotFoundError:
            return []
        return [Answer(panel["answer"], panel["settings"]) for panel in panels]

    def __repr__(self) -> str:
        return f"<Sweep of {len(self.runs)} runs in {self.out}>"

    def _repr_html_(self) -> str:
        means = self.means
        keys = list(means.columns[: list(means.columns).index("metric")])
        metrics = list(dict.fromkeys(means["metric"]))
        shown = metrics[:_METRICS_MAX]
        cells: dict[tuple[str, ...], dict[str, str]] = {}
        for row in means.itertuples(index=False):
            values = tuple(str(value) for value in row[: len(keys)])
            metric, _, mean, within = row[len(keys) :]
            text = "–" if mean != mean else f"{mean:,.4g}" if within != within else f"{mean:,.4g} ± {within:,.2g}"
            cells.setdefault(values, {})[metric] = text
        rows = [[*values, *(numbers.get(metric, "–") for metric in shown)] for values, numbers in cells.items()]
        about = [f"{len(self.runs)} runs; means over seeds, ± half the width of the 95 % confidence interval."]
        if len(metrics) > len(shown):
            about.append(f"{len(metrics) - len(shown)} more metrics are in `means`.")
        if len(rows) > _ROWS_MAX:
            about.append(f"{len(rows) - _ROWS_MAX} more combinations are in `means`.")
        page = self.out / "sweep.html"
        below = link(page) if page.exists() else ""
        verdicts = [" ".join(filter(None, [answer.settings, answer.verdict])) for answer in self.answers[:_ANSWERS_MAX]]
        return "".join(map(paragraph, verdicts)) + paragraph(" ".join(about)) + table([*keys, *shown], rows[:_ROWS_MAX], left=len(keys)) + below


class Tournament(Sweep):
    """The rows and the standings of a tournament."""

    @property
    def answer(self) -> Answer:
        """Which entrant is best, at what price, and for whom; the first of `answers` if other values than seeds and windows vary."""
        return self.answers[0]

    @property
    def standings(self) -> pd.DataFrame:
        """One row per metric of each entrant: `runs`, `mean` and `within`, half the width of its 95 % confidence interval; `difference`
        from the entrant that all are compared with, and `difference_within`; and 1 in `best` if no other is significantly better."""
        import pandas as pd

        return pd.read_csv(self.out / "standings.csv")

    @property
    def means(self) -> pd.DataFrame:
        """The columns of `standings` that a sweep has, too."""
        standings = self.standings
        return standings[standings.columns[: list(standings.columns).index("within") + 1]]

    def __repr__(self) -> str:
        return f"<Tournament of {len(self.runs)} runs in {self.out}>"

    def _repr_html_(self) -> str:
        page = self.out / "tournament.html"
        shown = "\n".join(answer._repr_html_() for answer in self.answers[:_ANSWERS_MAX])
        if len(self.answers) > _ANSWERS_MAX:
            shown += paragraph(f"{len(self.answers) - _ANSWERS_MAX} more are in `answers`.")
        return shown + (link(page) if page.exists() else "")


#: Most answers that a notebook shows.
_ANSWERS_MAX = 4
#: Most metrics and combinations that a notebook shows.
_METRICS_MAX = 8
_ROWS_MAX = 40


def sweep(
    experiment: Path,
    vary: Mapping[str, Sequence[Value]] | None = None,
    set: Mapping[str, Value] | None = None,
    *,
    metrics: Sequence[str] | None = None,
    out: Path | None = None,
    threads: int | None = None,
    fresh: bool = False,
    progress: bool = True,
    bidder: Bidder | None = None,
    allocator: Allocator | None = None,
    scheduler: Mapping[str, Scheduler] | None = None,
    planner: Mapping[str, Planner] | None = None,
) -> Sweep:
    """Runs every combination of an experiment's settings, on all cores.

    `experiment` is the file of one, or a topology that is run with each combination of the values in `vary`, the first of which changes
    slowest, and with `set` in all of them. Rows go to `out`; for an experiment that is `out/NAME` if nothing is said, and rows that
    are there are not run again. A bar shows progress on a terminal or in a notebook: that of tqdm if it is installed.

    A `bidder`, an `allocator`, a `scheduler` of each site and a `planner` of each user are those of `run`; each run gets a copy of them as they are now.
    What comes of them is not known in advance, so such a sweep always starts over.
    """
    objects = Objects(bidder, allocator, scheduler, planner)
    kept = None
    told: dict[str, Value] = {}
    with contextlib.ExitStack() as talks:
        if vary is not None:
            kept = tempfile.TemporaryDirectory(prefix="hansa-")
            told = objects.settings(talks, set or {}, vary, copied=True)
            fixed = {**(set or {}), **told}
            experiment = _write(pathlib.Path(kept.name), pathlib.Path(experiment), vary, fixed, metrics)
            out = out if out is not None else os.path.join(kept.name, "out")
        elif set is not None or metrics is not None:
            raise ValueError("`set` and `metrics` need `vary`: an experiment file has its own [set] and metrics")
        elif objects:
            raise ValueError("`bidder`, `allocator`, `scheduler` and `planner` need `vary`: expected a topology, not an experiment file")
        place = pathlib.Path(out) if out is not None else pathlib.Path("out", _name(experiment))
        flags = ["sweep", str(experiment), "--out", str(place), "--quiet"]
        flags += ["--threads", str(threads)] if threads is not None else []
        flags += ["--fresh"] if fresh or objects else []
        try:
            _run(flags, place, progress)
        except HansaError as error:
            raise explain(error, told.keys(), experiment if kept is not None else None) from None
    return Sweep(place, kept)


def tournament(
    experiment: Path,
    *,
    by: str | None = None,
    against: str | None = None,
    out: Path | None = None,
    threads: int | None = None,
    fresh: bool = False,
    progress: bool = True,
) -> Tournament:
    """Runs an experiment with entrants, on all cores, and compares these.

    `by` is the metric that decides, and `against` the entrant that all others are compared with. Rows go to `out`, or to `out/NAME`
    for an experiment of this name; rows that are there are not run again.
    """
    place = pathlib.Path(out) if out is not None else pathlib.Path("out", _name(experiment))
    flags = ["tournament", str(experiment), "--out", str(place), "--quiet"]
    flags += ["--by", by] if by is not None else []
    flags += ["--against", against] if against is not None else []
    flags += ["--threads", str(threads)] if threads is not None else []
    flags += ["--fresh"] if fresh else []
    _run(flags, place, progress)
    return Tournament(place)


def _run(flags: Sequence[str], place: pathlib.Path, progress: bool) -> None:
    with tempfile.TemporaryFile("w+") as said:
        process = start(flags, None, said)
        try:
            _watch(process, place, progress)
        except BaseException:
            process.wait()
            raise
        said.seek(0)
        check(process.returncode, said.read())


def _write(
    folder: pathlib.Path,
    topology: pathlib.Path,
    vary: Mapping[str, Sequence[Value]],
    fixed: Mapping[str, Value],
    metrics: Sequence[str] | None,
) -> pathlib.Path:
    """An experiment of these values."""
    lines = ['name = "sweep"', f"topology = {quoted(str(topology.absolute()))}"]
    if metrics is not None:
        lines.append(f"metrics = {written(list(metrics))}")
    lines += ["[set]", *(f"{key} = {written(value, True)}" for key, value in fixed.items())]
    lines += ["[vary]", *(f"{key} = {written(list(values))}" for key, values in vary.items())]
    path = folder / "experiment.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def _name(experiment: Path) -> str:
    """The name of an experiment. The program reports any faults of the file."""
    for line in pathlib.Path(experiment).read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals and key.strip() == "name":
            return value.partition("#")[0].strip().strip("\"'")
    return "sweep"


class _Bar(Protocol):
    """The part of tqdm's bar that is used."""

    n: Any
    total: Any

    def update(self, n: float = ...) -> object: ...
    def refresh(self) -> object: ...
    def close(self) -> object: ...


def _watch(process: subprocess.Popen[str], out: pathlib.Path, progress: bool) -> None:
    """Shows the number of rows until the process ends."""
    bar = _bar() if progress and _is_watched() else None
    while True:
        try:
            process.wait(0.2)
            ended = True
        except subprocess.TimeoutExpired:
            ended = False
        if bar is not None:
            bar.total = _total(out) or bar.total
            bar.update(max(_rows(out) - bar.n, 0))
            bar.refresh()
        if ended:
            break
    if bar is not None:
        bar.close()


def _rows(out: pathlib.Path) -> int:
    try:
        return max((out / "runs.csv").read_bytes().count(b"\n") - 1, 0)
    except OSError:
        return 0


def _total(out: pathlib.Path) -> int:
    try:
        return int(json.loads((out / "sweep.json").read_text())["runs"])
    except (OSError, ValueError, KeyError):
        return 0


def _is_watched() -> bool:
    """True if a bar can be seen: at a terminal, or in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _bar() -> _Bar:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Plain()
    bar: _Bar = tqdm(total=0, unit="run")
    return bar


class _Plain:
    """A line that counts."""

    def __init__(self) -> None:
        self.n = 0
        self.total = 0

    def update(self, n: float = 1) -> None:
        self.n += int(n)

    def refresh(self) -> None:
        sys.stderr.write(f"\r{self.n}/{self.total} runs")
        sys.stderr.flush()

    def close(self) -> None:
        # A notebook would show the escape that erases a line of a terminal.
        sys.stderr.write("\r\x1b[2K" if sys.stderr.isatty() else "\n")
