"""Conversations with Hansa: it asks and a program answers, a JSON object a line. Who takes part is a subclass."""

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

    def answer(self, said: dict[str, Any]) -> dict[str, Any]:
        """The answer to what was said after the greeting."""
        raise NotImplementedError

    def greeted(self, said: dict[str, Any]) -> None:
        """Hears the greeting, which tells of the grid."""

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
            self.greeted(said)
            return {"type": "hello", "version": self.VERSION}
        return self.answer(said)
