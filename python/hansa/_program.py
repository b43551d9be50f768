"""Path and command line of the program."""

from __future__ import annotations

import numbers
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Collection, Mapping, Sequence
from typing import IO, Union

Path = Union[str, "os.PathLike[str]"]
Value = Union[bool, int, float, str, Sequence["Value"], Mapping[str, "Value"]]


class HansaError(Exception):
    """The program did not do what it was asked to. `code` is its exit code; `hansa --help` lists them."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def program() -> str:
    """The path of the program: $HANSA_PROGRAM, that of this package, or the first in $PATH."""
    chosen = os.environ.get("HANSA_PROGRAM")
    if chosen:
        return chosen
    schemes = ["", f"{os.name}_user"]
    for scheme in schemes:
        scripts = sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts")
        path = os.path.join(scripts, "hansa")
        if os.path.isfile(path):
            return path
    found = shutil.which("hansa")
    if found is None:
        raise FileNotFoundError("the program hansa was found neither in this package nor in $PATH")
    return found


def version() -> str:
    """The output of `hansa --version`."""
    return subprocess.run([program(), "--version"], check=True, capture_output=True, text=True).stdout.strip()


def settings(values: Mapping[str, Value] | None, seed: int | None) -> list[str]:
    """Flags that set keys of a topology."""
    flags = [flag for key, value in (values or {}).items() for flag in ("--set", f"{key}={written(value)}")]
    return flags if seed is None else [*flags, "--seed", str(seed)]


def written(value: Value, inside: bool = False) -> str:
    """A value as topologies have it; a text that stands alone needs no quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value) if inside else value
    # Numbers of numpy may be neither int nor float, and do not show themselves as these do.
    if isinstance(value, (int, numbers.Integral)):
        return repr(int(value))
    if isinstance(value, (float, numbers.Real)):
        return repr(float(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quoted(key)} = {written(inner, True)}" for key, inner in value.items()) + "}"
    return "[" + ", ".join(written(inner, True) for inner in value) + "]"


def quoted(text: str) -> str:
    """A text in TOML."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if ord(c) >= 32 and ord(c) != 127 else f"\\u{ord(c):04x}" for c in plain) + '"'


def start(arguments: Sequence[str], text: str | None, said: IO[str] | None = None) -> subprocess.Popen[str]:
    """Starts the program; `text` is what its standard input will be. What it says may go to a file, and then it prints nothing."""
    return subprocess.Popen(
        [program(), *arguments],
        stdin=subprocess.DEVNULL if text is None else subprocess.PIPE,
        stdout=subprocess.PIPE if said is None else subprocess.DEVNULL,
        stderr=subprocess.PIPE if said is None else said,
        text=True,
    )


def call(arguments: Sequence[str], text: str | None = None) -> str:
    """Runs the program to its end and gives what it printed."""
    return end(start(arguments, text), text)


def end(process: subprocess.Popen[str], text: str | None = None) -> str:
    """Waits for the end of the program, and raises what it complains of."""
    try:
        printed, said = process.communicate(text)
    except BaseException:
        # Ctrl-C has reached it as well; it needs a moment to put its results away.
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    check(process.returncode, said)
    return printed


def explain(error: HansaError, keys: Collection[str] = (), written: Path | None = None) -> HansaError:
    """The error in terms of a call: of the `keys` that objects set, each object gives one error, without what was passed to the program,
    and `written` is a file that the module wrote from arguments."""
    told: list[str] = []
    wrong = set()
    for part in str(error).split("\n\nerror: "):
        key = part.partition(": ")[0]
        # An object sets several keys of one site, user or system.
        owner = ".".join(key.split(".")[: 2 if key.startswith(("site.", "user.")) else 1])
        if key in keys:
            if owner in wrong:
                continue
            wrong.add(owner)
            hints = [line for line in part.splitlines() if line.lstrip().startswith("= ")]
            part = "\n".join([part.partition("\n")[0], f"  --> the object for {owner}", *hints])
        told.append(part.replace("--> the command line", "--> the arguments of the call"))
    text = "\n\nerror: ".join(told)
    if written is not None:
        text = re.sub(re.escape(str(written)) + r"(:\d+)*", "the arguments of the call", text)
    return HansaError(text, error.code)


def check(code: int, said: str) -> None:
    if code == 130:
        raise KeyboardInterrupt
    if code != 0:
        # Warnings may come before.
        _, _, wrong = f"\n{said.strip()}".partition("\nerror: ")
        if code < 0 and not wrong:
            wrong = "\n".join([f"hansa was ended by a signal: {signal_name(-code)}", said.strip()]).strip()
        raise HansaError(wrong or said.strip() or f"hansa ended with {code}", code)
    if said:
        sys.stderr.write(said)


def signal_name(number: int) -> str:
    """`SIGKILL`, for example; the number of a signal that has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
