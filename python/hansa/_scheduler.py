"""Managers of sites in Python: the conversation of docs/outside.md."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ._nodes import numbers, ranges
from ._orders import Cluster, Orders
from ._tables import JobTable


@dataclass(frozen=True)
class Job:
    """A job at a site. Times are in seconds."""

    job: int
    nodes: int
    #: Its walltime, with its checkpoints if it makes any. Its run time is not known.
    walltime: float
    #: Time of its arrival at the site, or of its return to the queue from failed nodes.
    came: float


@dataclass(frozen=True)
class Running:
    """A job on nodes, which are in ascending order."""

    job: Job
    nodes: tuple[int, ...]
    started: float

    @property
    def until(self) -> float:
        """The end of its walltime."""
        return self.started + self.job.walltime


class Scheduler(Orders):
    """Decides when and on which nodes jobs of a site start. Define `decide`.

    `hansa.run(..., scheduler={"york": Mine()})` lets it manage a site; a program of its own, for a site with
    `scheduler = "external"`, calls `Mine().serve()`.
    """

    KIND = "manage"
    site: Cluster
    #: Jobs that wait, in order of arrival, and those that run, in order of their start; both by number. A loop over them
    #: may start, reject and kill jobs.
    waiting: JobTable[Job]
    running: JobTable[Running]
    #: The nodes that are up and on which nothing runs.
    free: set[int]
    #: The nodes that are down, each with the time at which it is expected back.
    down: dict[int, float]

    def decide(self) -> None:
        """Gives orders, once all that has happened at this moment is known."""
        raise NotImplementedError("a scheduler has decide()")

    def submitted(self, job: Job) -> None:
        """A job has come, and waits."""

    def ended(self, running: Running, how: str) -> None:
        """A job has left its nodes: it is "done", its "walltime" was over, or it was "killed"."""

    def lost(self, running: Running, again: Job | None) -> None:
        """A node of a running job has failed. If it waits here again, `again` is its remaining part, and the last of `waiting`."""

    def nodes_changed(self) -> None:
        """Nodes have failed, or are up again, or are expected at another time: `down` and `free` say so."""

    def recalled(self, job: Job) -> None:
        """Its user has taken a waiting job back."""

    def start(self, job: Job, nodes: Iterable[int] | None = None) -> None:
        """Starts a waiting job now, on these nodes or on the lowest that are free."""
        chosen = heapq.nsmallest(job.nodes, self.free) if nodes is None else sorted(nodes)
        if job.job not in self.waiting:
            raise ValueError(f"job {job.job} does not wait at {self.site.name}")
        if len(set(chosen)) != job.nodes or not self.free.issuperset(chosen):
            free = f"{len(self.free)} are free, and {chosen} were chosen"
            raise ValueError(f"job {job.job} needs {job.nodes} free nodes of {self.site.name}: {free}")
        self.free.difference_update(chosen)
        self.running[job.job] = Running(self.waiting.pop(job.job), tuple(chosen), self.now)
        self._order("start", job=job.job, nodes=ranges(chosen))

    def reject(self, job: Job) -> None:
        """Refuses a waiting job for good."""
        del self.waiting[job.job]
        self._order("reject", job=job.job)

    def kill(self, running: Running) -> None:
        """Ends a job that runs; its nodes are free for the next orders."""
        self.free.update(self.running[running.job.job].nodes)
        self._killed[running.job.job] = self.running.pop(running.job.job)
        self._order("kill", job=running.job.job)

    def greeted(self, said: dict[str, Any]) -> None:
        super().greeted(said)
        self.site = Cluster(said["site"]["name"], said["site"]["nodes"])
        self.waiting, self.running = JobTable(), JobTable()
        self.free, self.down = set(range(self.site.nodes)), {}
        # Jobs that were killed and whose ends have not been reported yet.
        self._killed: dict[int, Running] = {}

    def _hear(self, event: dict[str, Any]) -> None:
        if event["event"] == "nodes":
            self.down = {node: part["back"] for part in event["down"] for node in numbers(part["nodes"])}
            taken = [node for running in self.running.values() for node in running.nodes]
            self.free = set(range(self.site.nodes)).difference(self.down, taken)
            self.nodes_changed()
            return
        number = event["job"]
        if event["event"] == "submitted":
            job = self.waiting[number] = Job(number, event["nodes"], event["walltime"], self.now)
            self.submitted(job)
        elif event["event"] == "ended":
            killed = self._killed.pop(number, None)
            if killed is None:
                over = self.running.pop(number)
                self.free.update(over.nodes)
            self.ended(killed or over, event["how"])
        elif event["event"] == "lost":
            over, again = self.running.pop(number), None
            # Which of its nodes are up is told next.
            self.free.update(over.nodes)
            if event["waits"]:
                again = self.waiting[number] = Job(number, over.job.nodes, event["walltime"], self.now)
            self.lost(over, again)
        elif event["event"] == "recalled":
            self.recalled(self.waiting.pop(number))
