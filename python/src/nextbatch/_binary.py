"""Finds the program that this package carries, and runs it as the command ``nextbatch``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from ._errors import WorkerError

#: Names a program to use instead of the one in this package.
OVERRIDE = "NEXTBATCH_BINARY"


def version() -> str:
    """Return the version of this package, which is also that of its program."""
    try:
        return metadata.version("nextbatch")
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        return "0.0.0.dev0"


def path() -> str:
    """Return the path of the program."""
    override = os.environ.get(OVERRIDE)
    if override:
        return override
    name = "nextbatch.exe" if os.name == "nt" else "nextbatch"
    carried = Path(__file__).parent / "bin" / name
    if carried.is_file():
        return str(carried)
    raise WorkerError(
        f"this installation of nextbatch has no program at {carried}: install a wheel for your platform, "
        f"or name the program in the environment variable {OVERRIDE}"
    )


def main() -> int:
    """Run the program with the arguments of this process."""
    try:
        program = path()
    except WorkerError as error:
        print(f"nextbatch: {error}", file=sys.stderr)
        return 1
    if os.name == "nt":
        return subprocess.run([program, *sys.argv[1:]]).returncode
    os.execv(shutil.which(program) or program, [program, *sys.argv[1:]])
