"""Passes lines on between Hansa, which has started this, and an object in another process. Needs nothing but Python."""

import socket
import sys


def main(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        with connection.makefile("rw", encoding="utf-8") as other:
            for line in sys.stdin:
                other.write(line)
                other.flush()
                answer = other.readline()
                if not answer:
                    # It has raised something, which is told over there.
                    sys.exit(1)
                sys.stdout.write(answer)
                sys.stdout.flush()


main(sys.argv[1])
