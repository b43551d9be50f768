"""Planners of users in Python: the conversation of docs/outside.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._orders import Cluster, Orders


@dataclass(frozen=True)
class Due:
    """A job that its user may submit from now on."""

    job: int
    nodes: int
    #: Its walltime, in seconds.
    walltime: float
    #: The site that the workload prescribes, if it does.
    site: str | None


class Planner(Orders):
    """Decides when and where a user submits jobs. Define `due`.

    `hansa.run(..., planner={"alice": Mine()})` lets it plan for a user; a program of its own, for a user with
    `planner = "external"`, calls `Mine().serve()`.
    """

    KIND = "plan"
    user: str
    sites: tuple[Cluster, ...]
    #: Jobs that have been submitted and are not over, by number.
    live: dict[int, Due]

    def due(self, job: Due) -> None:
        """A job can be submitted: now, or whenever it seems best."""
        raise NotImplementedError("define due()")

    def over(self, job: Due) -> None:
        """A job that was submitted has ended, in any way."""

    def recalled(self, job: Due, in_time: bool) -> None:
        """The answer to a recall. If it was in time, the job has not run, and can be submitted again."""

    def submit(self, job: Due, site: str | None = None) -> None:
        """Submits a job to a site, or to the one that the workload prescribes or the dispatcher chooses."""
        self.live[job.job] = job
        self._order("submit", job=job.job, site=site)

    def recall(self, job: Due) -> None:
        """Asks for a job back that has been submitted."""
        self._order("recall", job=job.job)

    def greeted(self, said: dict[str, Any]) -> None:
        super().greeted(said)
        self.user, self.live = said["user"], {}
        self.sites = tuple(Cluster(site["name"], site["nodes"]) for site in said["sites"])

    def _hear(self, event: dict[str, Any]) -> None:
        if event["event"] == "due":
            self.due(Due(event["job"], event["nodes"], event["walltime"], event["site"]))
        elif event["event"] == "over":
            self.over(self.live.pop(event["job"]))
        elif event["event"] == "recalled":
            # A job that is over before the answer comes has been told of as such.
            job = self.live.get(event["job"])
            if event["in_time"]:
                del self.live[event["job"]]
            if job is not None:
                self.recalled(job, event["in_time"])
