"""Finds the programs in this package, and runs them as the commands ``nextbatch`` and ``nextbatch-hpc``."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
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
    """Return the path of the program: the one that uses GPUs, where there is a driver for them."""
    override = os.environ.get(OVERRIDE)
    if override:
        return override
    if has_driver() and _carried("nextbatch-hpc").is_file():
        return str(_carried("nextbatch-hpc"))
    return _existing("nextbatch")


def has_driver() -> bool:
    """Report whether NVIDIA's driver is there, and the loader of glibc, which nextbatch-hpc needs."""
    loader = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}.get(platform.machine(), "")
    return Path(loader).is_file() and any(Path(file).exists() for file in ("/dev/nvidiactl", "/dev/dxg"))


def _carried(name: str) -> Path:
    return Path(__file__).parent / "bin" / (f"{name}.exe" if os.name == "nt" else name)


def _existing(name: str) -> str:
    carried = _carried(name)
    if carried.is_file():
        return str(carried)
    raise WorkerError(
        f"this installation of nextbatch has no program at {carried}: install a wheel for your platform, "
        f"or name the program in the environment variable {OVERRIDE}"
    )


def main() -> int:
    """Run the program with the arguments of this process."""
    return _run(path)


def main_hpc() -> int:
    """Run the program that uses GPUs and MPI."""
    return _run(lambda: _existing("nextbatch-hpc"))


def _run(find: Callable[[], str]) -> int:
    try:
        program = find()
    except WorkerError as error:
        print(f"nextbatch: {error}", file=sys.stderr)
        return 1
    if os.name == "nt":
        return subprocess.run([program, *sys.argv[1:]]).returncode
    os.execv(shutil.which(program) or program, [program, *sys.argv[1:]])
