"""Stints: times that tasks spend on cores, from the log of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

#: Records that give a task cores.
_PLACED = ("started", "resumed", "moved")
#: Records after which a task has no cores.
_LEFT = ("finished", "killed", "preempted", "lost", "requeued", "suspended", "dropped")
_KINDS = frozenset((*_PLACED, *_LEFT, "stacked", "shared", "needs"))

COLUMNS = ["task", "job", "site", "start", "end", "core_ranges", "core_count", "used"]


@lru_cache(maxsize=1 << 16)
def core_ranges(text: str) -> tuple[tuple[int, int], ...]:
    """Cores as `((0, 3), (7, 7))`, first and last of each range, from "0-3 7"."""
    parts = (run.partition("-") for run in text.split())
    return tuple((int(first), int(last or first)) for first, _, last in parts)


def core_count(ranges: Iterable[tuple[int, int]]) -> int:
    """Number of cores in ranges."""
    return sum(last - first + 1 for first, last in ranges)


@dataclass
class _Open:
    """A stint that has not ended."""

    site: str
    start: float
    ranges: tuple[tuple[int, int], ...]
    #: Number of parallel tasks, of which several may be on one node.
    parallel: int
    #: Share of its cores that the task gets.
    share: float = 1.0


class _Reader:
    """Turns records into stints, in order of their ends.

    A stint ends when its task leaves its cores, gets others, or gets another share of them. `shared_sites` are the sites on
    whose nodes several tasks may be, where a task uses its need of CPU times its share; elsewhere it uses whole cores.
    """

    def __init__(self, shared_sites: frozenset[str]) -> None:
        self.shared_sites = shared_sites
        self.rows: list[tuple[Any, ...]] = []
        self.last = 0.0
        self._open: dict[str, _Open] = {}
        self._needs: dict[int, float] = {}

    def read(self, event: Mapping[str, Any]) -> None:
        kind, now = event["event"], event["t"]
        if kind == "needs":
            self._needs[event["job"]] = event["cpu"]
            return
        task = event["task"]
        if kind in _LEFT:
            self._close(task, now)
        elif kind in _PLACED:
            share = self._close(task, now)
            ranges = core_ranges(event["cores"])
            self._open[task] = _Open(event["actor"], now, ranges, core_count(ranges), share if kind == "moved" else 1.0)
        elif kind == "stacked":
            self._open[task].parallel += core_count(core_ranges(event["cores"]))
        elif task in self._open:
            self._share(task, now, event["share"])

    def close_all(self) -> None:
        """Ends all open stints with the log."""
        for task in list(self._open):
            self._close(task, self.last)

    def _share(self, task: str, now: float, share: float) -> None:
        stint = self._open[task]
        if now > stint.start:
            self._close(task, now)
            stint = self._open[task] = _Open(stint.site, now, stint.ranges, stint.parallel)
        stint.share = share

    def _close(self, task: str, now: float) -> float:
        """Ends the stint of a task, if it has one, and returns its share."""
        stint = self._open.pop(task, None)
        if stint is None:
            return 1.0
        if now > stint.start:
            job = int(task.partition(".")[0])
            used = float(stint.parallel)
            if stint.site in self.shared_sites:
                used *= self._needs.get(job, 1.0) * stint.share
            count = core_count(stint.ranges)
            self.rows.append((task, job, stint.site, stint.start, now, stint.ranges, count, used))
        return stint.share


def read_stints(lines: Iterable[str], shared_sites: frozenset[str]) -> list[tuple[Any, ...]]:
    """The stints of a log, a tuple of `COLUMNS` each."""
    reader = _Reader(shared_sites)
    line = ""
    for line in lines:
        # Most of a log is other records, and long ones.
        if line.partition('"event":"')[2].partition('"')[0] in _KINDS:
            reader.read(json.loads(line))
    if line:
        reader.last = json.loads(line)["t"]
    reader.close_all()
    return reader.rows
