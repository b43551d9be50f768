"""Common part of managers of sites and planners of users: they get events, and give orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._talk import Talk


@dataclass(frozen=True)
class Cluster:
    name: str
    nodes: int
    #: Divisor of the times of reservations there.
    speed: float = 1.0


class Orders(Talk):
    """Answers events with orders, which are carried out in the order in which they were given."""

    #: Type of its answers.
    KIND: str
    #: Facts about the run, known after the greeting.
    topology: str
    seed: int
    #: Virtual time, in seconds.
    now: float = 0.0

    def call(self, at: float) -> None:
        """Asks to be asked again at a later time, even if nothing happens until then."""
        self._order("call", t=at)

    def called(self) -> None:
        """A time has come at which it asked to be called."""

    def decide(self) -> None:
        """Called when all events of this moment are known."""

    def greeted(self, said: dict[str, Any]) -> None:
        self.topology, self.seed = said["topology"], said["seed"]
        self._orders: list[dict[str, Any]] = []

    def answer(self, said: dict[str, Any]) -> dict[str, Any]:
        self.now = said["t"]
        for event in said["events"]:
            if event["event"] == "called":
                self.called()
            else:
                self._hear(event)
        self.decide()
        orders, self._orders = self._orders, []
        return {"type": self.KIND, "ask": said["ask"], "orders": orders}

    def _hear(self, event: dict[str, Any]) -> None:
        raise NotImplementedError

    def _order(self, order: str, **what: Any) -> None:
        self._orders.append({"order": order, **what})
