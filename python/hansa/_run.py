"""One run, and its results."""

from __future__ import annotations

import contextlib
import json
import pathlib
import tempfile
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ._allocator import Allocator
from ._bidder import Bidder
from ._numbers import count, link, paragraph, percent, span, table
from ._objects import Objects
from ._planner import Planner
from ._program import HansaError, Path, Value, call, explain, settings
from ._scheduler import Scheduler
from ._stints import COLUMNS, core_count, core_ranges, read_stints

# It takes its time to be loaded, and a bidder that is a program of its own has no use for it.
if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

#: Columns that sometimes look like numbers but are text.
TEXTS = ("allocated_resources", "allocated", "cores", "nodes", "edge", "profile", "workload_name", "final_state", "metadata", "name")


class Run:
    """The results of a run. Frames are read when first used."""

    def __init__(self, out: Path, kept: object = None) -> None:
        #: The result folder.
        self.out = pathlib.Path(out)
        # A folder without a name from the caller lives as long as this object.
        self._kept = kept
        summary = self.out / "summary.json"
        if not summary.is_file():
            raise HansaError(f"{self.out} is not a result folder: it has no summary.json", 2)
        try:
            whole: dict[str, Any] = json.loads(summary.read_text())
            #: The results, equal in every layout: `results` of `summary.json`.
            self.summary: dict[str, Any] = whole["results"]
            #: Costs of the run on this machine: `run` of `summary.json`.
            self.facts: dict[str, Any] = whole["run"]
        except (ValueError, KeyError, TypeError) as error:
            raise HansaError(f"{summary} is damaged: {error}", 2) from error

    @property
    def digest(self) -> str:
        """The fingerprint of all that happened, in order."""
        return str(self.summary["digest"])

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row per job."""
        return self._table("jobs.csv")

    @cached_property
    def tasks(self) -> pd.DataFrame:
        """One row per task; the same frame as `jobs` if every job has one task."""
        return self._table("tasks.csv") if (self.out / "tasks.csv").exists() else self.jobs

    @cached_property
    def events(self) -> pd.DataFrame:
        """The log: one row per event, in order, with the fields of all kinds of events as columns."""
        import pandas as pd

        with (self.out / "events.jsonl").open() as lines:
            return pd.DataFrame([json.loads(line) for line in lines])

    @cached_property
    def stints(self) -> pd.DataFrame:
        """One row per time that a task spent on cores, in order of their ends: a task that is moved, paused, lost, or gets another share
        of its nodes has several. `used` is the number of cores, where sites share nodes the CPU that the task got."""
        import pandas as pd

        shared = {site["name"] for site in self.summary.get("sharing", {}).get("sites", []) if site["shared"]}
        with (self.out / "events.jsonl").open() as lines:
            return pd.DataFrame(read_stints(lines, frozenset(shared)), columns=COLUMNS)

    @cached_property
    def transfers(self) -> pd.DataFrame:
        """One row per flow; empty without links."""
        return self._table("transfers.csv")

    @cached_property
    def reservations(self) -> pd.DataFrame:
        """One row per request; empty without reservations."""
        return self._table("reservations.csv")

    @cached_property
    def sharing(self) -> pd.DataFrame:
        """One row per ended job; empty unless sites share nodes among jobs."""
        return self._table("sharing.csv")

    def report(self, *, trace: bool = False) -> pathlib.Path:
        """Writes report.html to the result folder, with trace=True a trace for Perfetto, too. Returns the page's path."""
        call(["report", str(self.out), *(["--trace"] if trace else [])])
        return self.out / "report.html"

    def _table(self, name: str) -> pd.DataFrame:
        import pandas as pd

        path = self.out / name
        if not path.exists():
            return pd.DataFrame()
        with path.open() as file:
            columns = file.readline().strip().split(",")
        texts = {column: "string" for column in columns if column in TEXTS}
        # The number of nodes that a request asks for is a number.
        if name == "reservations.csv":
            texts.pop("nodes", None)
        frame = pd.read_csv(path, dtype=texts)
        if "cores" in frame:
            ranges = [core_ranges(text) if isinstance(text, str) else () for text in frame["cores"]]
            frame["core_ranges"] = pd.Series(ranges, index=frame.index, dtype=object)
            counts = [core_count(one) if one else None for one in ranges]
            frame["core_count"] = pd.array(counts, dtype="Int64")
        return frame

    def __repr__(self) -> str:
        jobs = self.summary["jobs"]
        return f"<Run of {self.summary['topology']}: {jobs['finished']} of {jobs['submitted']} jobs finished, digest {self.digest}>"

    def _repr_html_(self) -> str:
        results = self.summary
        jobs, wait, stretch = results["jobs"], results["job_wait"], results.get("stretch")
        rows = [
            ["topology", f"{results['topology']}, seed {results['seed']}"],
            ["status", results["status"]],
            ["jobs finished", f"{count(jobs['finished'])} of {count(jobs['submitted'])}"],
        ]
        others = [(jobs.get(key, 0), key) for key in ("killed", "removed", "refused", "unfinished")]
        if any(number for number, _ in others):
            rows.append(["other jobs", ", ".join(f"{count(number)} {key}" for number, key in others if number)])
        if wait:
            rows.append(["mean wait of a job", f"{span(wait['mean'])} (95 % within {span(wait['p95'])})"])
        if stretch:
            rows.append(["mean stretch", f"{stretch['mean']:.2f}"])
        value = results.get("value")
        if value and value["proportion"] is not None:
            rows.append(["value obtained", percent(value["proportion"])])
        used = results["utilisation"]["all"]
        if used["makespan"] is not None:
            rows.append(["utilisation over the makespan", percent(used["makespan"])])
        if results["makespan"] is not None:
            rows.append(["makespan", span(results["makespan"])])
        rows.append(["digest", self.digest or "none: a live run"])
        page = self.out / "report.html"
        below = link(page) if page.exists() else paragraph("report() writes a page with charts.")
        return table(["run", ""], rows, left=2) + below


def run(
    topology: Path,
    set: Mapping[str, Value] | None = None,
    *,
    seed: int | None = None,
    processes: int | None = None,
    inline: bool = True,
    strict: bool = False,
    parquet: bool = False,
    out: Path | None = None,
    bidder: Bidder | None = None,
    allocator: Allocator | None = None,
    scheduler: Mapping[str, Scheduler] | None = None,
    planner: Mapping[str, Planner] | None = None,
) -> Run:
    """Runs a topology: a file, or the text of one (which has more than one line).

    `set` changes keys of it, as `--set` does, and `seed` its seed. All happens in one process; with `inline=False` the parts of the
    grid are processes of their own (`processes` of them), and the digest is the same. Results go to `out`, which is replaced, or to
    a folder that is removed with the `Run`; `parquet` adds the log and the tables as Parquet. A `bidder` takes the place of the market's
    policy and an `allocator` that of the policy of reservations, a `scheduler` manages the site of this name, and a `planner` plans for
    the user of this name.
    """
    objects = Objects(bidder, allocator, scheduler, planner)
    text = topology if isinstance(topology, str) and "\n" in topology else None
    kept = None if out is not None else tempfile.TemporaryDirectory(prefix="hansa-")
    place = pathlib.Path(out) if out is not None else pathlib.Path(kept.name if kept else "", "out")
    flags = ["run", "-" if text is not None else str(topology), "--out", str(place), "--quiet", *settings(set, seed)]
    if processes is not None:
        flags += ["--processes", str(processes)]
    elif inline:
        flags.append("--inline")
    if strict:
        flags.append("--strict")
    if parquet:
        flags += ["--format", "parquet"]
    with contextlib.ExitStack() as talks:
        told = objects.settings(talks, set or {}, {}, copied=False)
        try:
            call([*flags, *settings(told, None)], text)
        except HansaError as error:
            raise explain(error, told.keys()) from None
    return Run(place, kept)


def load(out: str | PathLike[str]) -> Run:
    """The results in a folder."""
    return Run(out)
