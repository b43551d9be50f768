"""Hansa from Python: run grids and sweeps, and get what comes of them as frames of pandas.

>>> import hansa
>>> run = hansa.run("topologies/quickstart.toml", {"market.policy": "srtf"})
>>> run.digest, run.jobs, run.summary["value"]["proportion"]

docs/python.md describes all of it.
"""

from ._allocator import Allocator, Candidate, Request, Shape
from ._answer import Answer
from ._bidder import Bidder, Curve, Grid, Site, Task, Worth
from ._compare import Comparison, compare
from ._orders import Cluster
from ._planner import Due, Planner
from ._plots import gantt, plot
from ._program import HansaError, program, version
from ._run import Run, load, run
from ._scheduler import Job, Running, Scheduler
from ._sweep import Sweep, Tournament, sweep, tournament

__all__ = [
    "Allocator",
    "Answer",
    "Bidder",
    "Candidate",
    "Cluster",
    "Comparison",
    "Curve",
    "Due",
    "Grid",
    "HansaError",
    "Job",
    "Planner",
    "Request",
    "Run",
    "Running",
    "Scheduler",
    "Shape",
    "Site",
    "Sweep",
    "Task",
    "Tournament",
    "Worth",
    "compare",
    "gantt",
    "load",
    "plot",
    "program",
    "run",
    "sweep",
    "tournament",
    "version",
]
