"""Lets Hansa talk to an object of this process."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator

from ._talk import Talk


@contextlib.contextmanager
def at_hand(talk: Talk) -> Iterator[list[str]]:
    """Lets Hansa talk to an object of this process: gives the command of a program that passes lines on to it.

    What the object raises is raised at the end, in place of the complaint that its side has gone.
    """
    with tempfile.TemporaryDirectory(prefix="hansa-") as folder, socket.socket(socket.AF_UNIX) as listener:
        path = os.path.join(folder, "talk")
        listener.bind(path)
        listener.listen(1)
        raised: list[BaseException] = []

        def serve() -> None:
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                with connection, connection.makefile("rw", encoding="utf-8") as lines:
                    try:
                        talk.serve(lines, lines)
                    except (BrokenPipeError, ConnectionResetError):
                        pass
                    except BaseException as error:
                        raised.append(error)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield [sys.executable, os.path.join(os.path.dirname(__file__), "_pass_on.py"), path]
        except Exception:
            _end(listener, path, thread)
            if raised:
                raise raised[0] from None
            raise
        _end(listener, path, thread)


def _end(listener: socket.socket, path: str, thread: threading.Thread) -> None:
    # Whoever still waits to be called is woken.
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(path)
    thread.join(5)
