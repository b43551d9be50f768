"""Conversations with Hansa: it asks and a program answers, one JSON object per line. Who takes part is a subclass."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any, Protocol


class Writer(Protocol):
    def write(self, text: str, /) -> object: ...
    def flush(self) -> object: ...


class Talk:
    """One side of a conversation: the one that answers."""

    #: Version of the conversation; an older or newer Hansa reports the difference and ends.
    VERSION = 1
    #: Attributes that set keys of its table, unless they are None.
    KEYS: tuple[str, ...] = ()
    #: Name of the object's part in the run, and the time of the last question, for notes.
    _whom = "object"
    _when = ""

    def answer(self, said: dict[str, Any]) -> dict[str, Any]:
        """The answer to a question after the greeting."""
        raise NotImplementedError

    def greeted(self, said: dict[str, Any]) -> None:
        """Takes the greeting, which describes the grid."""

    def explain(self, error: BaseException) -> None:
        """Adds a note to an exception: the part that raised it, and the time."""
        # Before Python 3.11 there are no notes.
        if hasattr(error, "add_note"):
            error.add_note(f"raised by the {self._whom}{self._when}")

    def serve(self, lines: Iterable[str] | None = None, to: Writer | None = None) -> None:
        """Answers until there are no more lines: over standard input and output by default.

        Other output goes to standard error meanwhile, as standard output carries the conversation.
        """
        lines = sys.stdin if lines is None else lines
        out, usual = (sys.stdout if to is None else to), sys.stdout
        if to is None:
            sys.stdout = sys.stderr
        try:
            for line in lines:
                out.write(json.dumps(self._reply(json.loads(line))) + "\n")
                out.flush()
        finally:
            sys.stdout = usual

    def _reply(self, said: dict[str, Any]) -> dict[str, Any]:
        if said["type"] == "hello":
            self._whom = _whom(said)
            self.greeted(said)
            return {"type": "hello", "version": self.VERSION}
        self._when = f" at virtual time {said['t']} s"
        return self.answer(said)


def _whom(hello: dict[str, Any]) -> str:
    """The part in the run that a greeting assigns."""
    if hello.get("role") == "manager":
        return f"scheduler of site {hello['site']['name']}"
    return f"planner of user {hello['user']}" if hello.get("role") == "planner" else hello.get("role", "bidder")
