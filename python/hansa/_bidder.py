"""Bid policies in Python: the conversation of docs/outside.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._talk import Talk


@dataclass(frozen=True)
class Site:
    name: str
    cores: int
    kind: str


@dataclass(frozen=True)
class Grid:
    """The grid as the greeting describes it."""

    topology: str
    seed: int
    sites: tuple[Site, ...]
    #: Seconds between two auctions.
    tick: float
    #: "largest" or "smallest": which bid is the best.
    winner: str


@dataclass(frozen=True)
class Curve:
    """The remaining share of a job's value, by age since submission in multiples of its critical path."""

    initial: float
    final: float
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Worth:
    max: float
    curve: Curve


@dataclass(frozen=True)
class Task:
    """A task that waits. Times are in seconds."""

    #: The number of the job and of the task in it, "12.3".
    task: str
    job: int
    submitted: float
    runtime: float
    cores: int
    kind: str
    #: The longest path from the task's start to the end of its job.
    rank: float
    #: The longest path from the job's start to its end.
    critical_path: float
    #: None if the job has no value.
    worth: Worth | None

    @staticmethod
    def read(told: dict[str, Any]) -> Task:
        worth = told.get("worth")
        if worth is not None:
            curve = worth["curve"]
            points = tuple((float(at), float(left)) for at, left in curve["points"])
            worth = Worth(worth["max"], Curve(curve["initial"], curve["final"], points))
        names = ("task", "job", "submitted", "runtime", "cores", "kind", "rank", "critical_path")
        return Task(**{name: told[name] for name in names}, worth=worth)


class Bidder(Talk):
    """A bid policy. Define `bid` for one task, or `bids` for a whole queue.

    `hansa.run(..., bidder=Mine())` runs it from here; a program of its own, for a topology with `policy = "external"`, calls
    `Mine().serve()`.
    """

    KEYS = ("ask", "winner")
    #: "once" or "always", and "largest" or "smallest", if the topology does not set them.
    ask: str | None = None
    winner: str | None = None
    #: The grid, known after the greeting.
    grid: Grid

    def bid(self, task: Task, now: float) -> float:
        """The bid of a task at this moment, in seconds of virtual time."""
        raise NotImplementedError("define bid() or bids()")

    def bids(self, queue: list[Task], now: float) -> list[float]:
        """The bids of all tasks of a queue, in its order."""
        return [self.bid(task, now) for task in queue]

    def greeted(self, said: dict[str, Any]) -> None:
        self._tasks: dict[str, Task] = {}
        sites = tuple(Site(site["name"], site["cores"], site["kind"]) for site in said["sites"])
        self.grid = Grid(said["topology"], said["seed"], sites, said["tick"], said["winner"])

    def answer(self, said: dict[str, Any]) -> dict[str, Any]:
        self._tasks.update((told["task"], Task.read(told)) for told in said["new"])
        for task in said.get("over", ()):
            del self._tasks[task]
        queue = said["queue"]
        bids = list(self.bids([self._tasks[name] for name in queue], said["t"]))
        if len(bids) == len(queue):
            bids = [_number(name, bid) for name, bid in zip(queue, bids)]
        return {"type": "bids", "ask": said["ask"], "bids": [float(bid) for bid in bids]}


def _number(task: str, bid: Any) -> float:
    try:
        return float(bid)
    except (TypeError, ValueError):
        raise TypeError(f"the bid of task {task} is {bid!r}: expected a number") from None
