"""Objects of this process that decide in a run: a bidder, schedulers of sites, planners of users."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from ._bidder import Bidder
from ._hand import at_hand
from ._planner import Planner
from ._program import Value
from ._scheduler import Scheduler
from ._talk import Talk

#: Value of a key if an external program decides.
EXTERNAL = "external"


class Objects:
    """Objects that decide, checked before a run starts."""

    def __init__(
        self,
        bidder: Bidder | None,
        scheduler: Mapping[str, Scheduler] | None,
        planner: Mapping[str, Planner] | None,
    ) -> None:
        if bidder is not None:
            _expect(bidder, "bidder", Bidder)
        self._bidder = bidder
        #: By the part of the topology that they decide for, and the key there that says so.
        self._named: list[tuple[str, str, Talk]] = []
        seen: dict[int, str] = {}
        for argument, section, kind, given in (("scheduler", "site", Scheduler, scheduler), ("planner", "user", Planner, planner)):
            for name, talk in _by_name(given, argument, section).items():
                _expect(talk, f"{argument}[{name!r}]", kind)
                if id(talk) in seen:
                    raise ValueError(f"{argument}[{name!r}] is the same object as {seen[id(talk)]}: expected one of its own")
                seen[id(talk)] = f"{argument}[{name!r}]"
                self._named.append((f"{section}.{name}", argument, talk))

    def __bool__(self) -> bool:
        return self._bidder is not None or bool(self._named)

    def settings(
        self,
        talks: contextlib.ExitStack,
        fixed: Mapping[str, Value],
        vary: Mapping[str, Sequence[Value]],
        copied: bool,
    ) -> dict[str, Value]:
        """The settings under which they are asked, on top of those that are `fixed` and those that `vary`.

        They answer as long as `talks` lasts: each itself, or for many runs at a time a copy for each.
        """
        told: dict[str, Value] = {}
        if self._bidder is not None:
            told["market.policy"] = EXTERNAL
            told["market.bidder.command"] = talks.enter_context(at_hand(self._bidder, copied))
            said = {"market.bidder.ask": self._bidder.ask, "market.bidder.winner": self._bidder.winner}
            told.update((key, value) for key, value in said.items() if value is not None)
        for member, key, talk in self._named:
            told[f"{member}.{key}"] = EXTERNAL
            told[f"{member}.command"] = talks.enter_context(at_hand(talk, copied))
        return {key: value for key, value in told.items() if not _is_said(key, value, fixed, vary)}


def _is_said(key: str, value: Value, fixed: Mapping[str, Value], vary: Mapping[str, Sequence[Value]]) -> bool:
    """True if a key has this value already; another value is an error."""
    object_of = "bidder" if key.startswith("market.") else "scheduler" if key.startswith("site.") else "planner"
    if key in vary and value == EXTERNAL:
        # It may be compared with others.
        if value in vary[key]:
            return True
        raise ValueError(f"vary has {key}, and a {object_of} is given: expected {value!r} among the values, which means the {object_of}")
    for argument, said in (("set", fixed), ("vary", vary)):
        if key in said and said[key] != value:
            raise ValueError(f"{argument} has {key}, and a {object_of} is given, which decides that: expected only one of them")
    return key in fixed


def _by_name(given: object, argument: str, section: str) -> Mapping[str, Any]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    raise TypeError(
        f"{argument}: expected a dict of objects by the name of their {section}, such as {{{'york' if section == 'site' else 'alice'!r}: "
        f"{_called(given)}}}, found {_found(given)}"
    )


def _expect(given: object, what: str, kind: type[Talk]) -> None:
    if isinstance(given, kind):
        return
    if isinstance(given, type) and issubclass(given, kind):
        raise TypeError(f"{what}: expected an object, such as {given.__name__}(), found the class {given.__name__}")
    raise TypeError(f"{what}: expected an object of a subclass of hansa.{kind.__name__}, found {_found(given)}")


def _called(given: object) -> str:
    """An expression that makes such an object, for messages."""
    name = given.__name__ if isinstance(given, type) else type(given).__name__
    return f"{name}()" if isinstance(given, Talk) or isinstance(given, type) else "Mine()"


def _found(given: object) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else f"an object of type {type(given).__name__}"
