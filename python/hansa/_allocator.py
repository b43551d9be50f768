"""Fit policies of reservations in Python: the conversation of docs/outside.md."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Union

from ._nodes import numbers, ranges
from ._orders import Cluster
from ._talk import Talk


@dataclass(frozen=True)
class Shape:
    """Nodes and time, in seconds at speed 1, that a job requests."""

    nodes: int
    duration: float


@dataclass(frozen=True)
class Candidate:
    """A possible start of a request, at a site and in one of its shapes. Times are in seconds."""

    #: Number among the candidates of the request.
    number: int
    site: Cluster
    shape: Shape
    start: float
    end: float
    #: The nodes that are free from the start to the end, with ranges as in "0-3 7", and their number.
    free: str
    width: int
    #: The time around the start in which all of these are free; infinity if it has no end.
    free_from: float
    free_until: float

    @property
    def nodes(self) -> tuple[int, ...]:
        """The free nodes, one by one."""
        return tuple(numbers(self.free))


@dataclass(frozen=True)
class Request:
    """A request for nodes between a ready time and a deadline, in seconds."""

    job: int
    submitted: float
    ready: float
    deadline: float
    shapes: tuple[Shape, ...]
    #: Possible places, ordered by shape, start and site.
    candidates: tuple[Candidate, ...]


class Allocator(Talk):
    """A fit policy of reservations. Define `prefer`, or `allocate`.

    `hansa.run(..., allocator=Mine())` runs it from here; a program of its own, for a topology with `policy = "external"` under
    `[reservation]`, calls `Mine().serve()`.
    """

    #: Facts about the run, known after the greeting.
    topology: str
    seed: int
    sites: tuple[Cluster, ...]
    #: The keys of the same name in `[reservation]`.
    choose: str
    shape: str
    rect_end: str
    #: Virtual time, in seconds.
    now: float = 0.0

    def prefer(self, candidate: Candidate, request: Request) -> Any:
        """A key: the candidate with the smallest one is booked, the first of equals."""
        raise NotImplementedError("define prefer() or allocate()")

    def allocate(self, request: Request) -> Union[Candidate, tuple[Candidate, Iterable[int]], None]:
        """The candidate to book, on its lowest free nodes or on these; None for none of them."""
        return min(request.candidates, key=lambda candidate: self.prefer(candidate, request))

    def greeted(self, said: dict[str, Any]) -> None:
        self.topology, self.seed = said["topology"], said["seed"]
        self.choose, self.shape, self.rect_end = said["choose"], said["shape"], said["rect_end"]
        self.sites = tuple(Cluster(site["name"], site["nodes"], site["speed"]) for site in said["sites"])
        self._sites = {site.name: site for site in self.sites}

    def answer(self, said: dict[str, Any]) -> dict[str, Any]:
        self.now = said["t"]
        request = self._read(said)
        chosen = self.allocate(request)
        if chosen is None:
            return {"type": "allocate", "ask": said["ask"], "candidate": None}
        if isinstance(chosen, Candidate):
            return {"type": "allocate", "ask": said["ask"], "candidate": chosen.number}
        candidate, nodes = chosen
        return {"type": "allocate", "ask": said["ask"], "candidate": candidate.number, "nodes": _checked(request, candidate, nodes)}

    def _read(self, said: dict[str, Any]) -> Request:
        shapes = tuple(Shape(shape["nodes"], shape["duration"]) for shape in said["shapes"])
        names = ("start", "end", "free", "width", "free_from")
        candidates = (
            Candidate(
                number=number,
                site=self._sites[one["site"]],
                shape=shapes[one["shape"]],
                free_until=math.inf if one["free_until"] is None else one["free_until"],
                **{name: one[name] for name in names},
            )
            for number, one in enumerate(said["candidates"])
        )
        facts = {name: said[name] for name in ("job", "submitted", "ready", "deadline")}
        return Request(**facts, shapes=shapes, candidates=tuple(candidates))


def _checked(request: Request, candidate: Candidate, nodes: Iterable[int]) -> str:
    chosen = sorted(nodes)
    if len(set(chosen)) != candidate.shape.nodes or not set(chosen) <= set(candidate.nodes):
        wanted = f"{candidate.shape.nodes} nodes of {candidate.free}"
        raise ValueError(f"job {request.job} needs {wanted} at {candidate.site.name}, and {chosen} were chosen")
    return ranges(chosen)
