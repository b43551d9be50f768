"""Objects of this process that decide in a run: a bidder, an allocator, schedulers of sites, planners of users."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from ._allocator import Allocator
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
        allocator: Allocator | None,
        scheduler: Mapping[str, Scheduler] | None,
        planner: Mapping[str, Planner] | None,
    ) -> None:
        #: Those that take the place of a policy: the table of a system, the name of the object, and the object.
        self._policies: list[tuple[str, str, Talk]] = []
        if bidder is not None:
            _expect(bidder, "bidder", Bidder)
            self._policies.append(("market", "bidder", bidder))
        if allocator is not None:
            _expect(allocator, "allocator", Allocator)
            self._policies.append(("reservation", "allocator", allocator))
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
        return bool(self._policies or self._named)

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
        for system, name, talk in self._policies:
            told[f"{system}.policy"] = EXTERNAL
            told[f"{system}.{name}.command"] = talks.enter_context(at_hand(talk, copied))
            said = {f"{system}.{name}.{key}": getattr(talk, key) for key in talk.KEYS}
            told.update((key, value) for key, value in said.items() if value is not None)
        for member, key, talk in self._named:
            told[f"{member}.{key}"] = EXTERNAL
            told[f"{member}.command"] = talks.enter_context(at_hand(talk, copied))
        return {key: value for key, value in told.items() if not _is_said(key, value, fixed, vary)}


def _is_said(key: str, value: Value, fixed: Mapping[str, Value], vary: Mapping[str, Sequence[Value]]) -> bool:
    """True if a key has this value already; another value is an error."""
    objects = {"market": "a bidder", "reservation": "an allocator", "site": "a scheduler", "user": "a planner"}
    given = objects[key.partition(".")[0]]
    if key in vary and value == EXTERNAL:
        # It may be compared with others.
        if value in vary[key]:
            return True
        means = f"which means the {given.partition(' ')[2]}"
        raise ValueError(f"vary has {key}, and {given} is given: expected {value!r} among the values, {means}")
    for argument, said in (("set", fixed), ("vary", vary)):
        if key in said and said[key] != value:
            raise ValueError(f"{argument} has {key}, and {given} is given, which decides that: expected only one of them")
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
