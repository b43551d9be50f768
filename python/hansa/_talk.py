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

    #: What it speaks; an older or newer Hansa says so, and ends.
    VERSION = 1
    #: Who it is, and when it was asked last.
    _whom = "object"
    _when = ""

    def answer(self, said: dict[str, Any]) -> dict[str, Any]:
        """The answer to what was said after the greeting."""
        raise NotImplementedError

    def greeted(self, said: dict[str, Any]) -> None:
        """Hears the greeting, which tells of the grid."""

    def explain(self, error: BaseException) -> None:
        """Notes in what it has raised for whom it decided, and when."""
        # Before Python 3.11 there are no notes.
        if hasattr(error, "add_note"):
            error.add_note(f"raised by the {self._whom}{self._when}")

    def serve(self, lines: Iterable[str] | None = None, to: Writer | None = None) -> None:
        """Talks until there are no more lines: over standard input and output if nothing else is said.

        What is printed meanwhile goes to standard error, for standard output is the conversation.
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
    """What somebody is who is greeted like that."""
    if hello.get("role") == "manager":
        return f"scheduler of site {hello['site']['name']}"
    return f"planner of user {hello['user']}" if hello.get("role") == "planner" else "bidder"
