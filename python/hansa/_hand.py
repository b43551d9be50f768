"""Lets Hansa talk to an object of this process."""

from __future__ import annotations

import contextlib
import copy
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator

from ._talk import Talk


@contextlib.contextmanager
def at_hand(talk: Talk, copied: bool = False) -> Iterator[list[str]]:
    """Lets Hansa talk to an object of this process: gives the command of a program that passes lines on to it.

    Callers talk to the object itself, or each to a copy of its initial state. An exception of the object is raised at the end, in
    place of the error that its side has gone.
    """
    if copied:
        talk = _copy(talk)
    with tempfile.TemporaryDirectory(prefix="hansa-") as folder, socket.socket(socket.AF_UNIX) as listener:
        path = os.path.join(folder, "talk")
        listener.bind(path)
        listener.listen()
        raised: list[BaseException] = []
        over = threading.Event()

        def serve(connection: socket.socket) -> None:
            one = _copy(talk) if copied else talk
            with contextlib.suppress(OSError), connection, connection.makefile("rw", encoding="utf-8") as lines:
                try:
                    one.serve(lines, lines)
                except (BrokenPipeError, ConnectionResetError):
                    pass
                except BaseException as error:
                    one.explain(error)
                    raised.append(error)

        def listen() -> None:
            callers: list[threading.Thread] = []
            while not over.is_set():
                connection, _ = listener.accept()
                # Two runs may be under way at once, or a process that was lost is replaced.
                callers.append(threading.Thread(target=serve, args=(connection,), daemon=True))
                callers[-1].start()
            for caller in callers:
                caller.join(5)

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        try:
            try:
                yield [sys.executable, os.path.join(os.path.dirname(__file__), "_pass_on.py"), path]
            finally:
                over.set()
                _end(path, thread)
        except Exception:
            if raised:
                raise raised[0] from None
            raise


def _copy(talk: Talk) -> Talk:
    try:
        return copy.deepcopy(talk)
    except Exception as error:
        raise TypeError(f"each run of a sweep gets a copy of the {type(talk).__name__}, but it cannot be copied: {error}") from error


def _end(path: str, thread: threading.Thread) -> None:
    # Wakes a thread that still waits for a call.
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(path)
    thread.join(5)
