"""Wheels for all platforms are what their names say, and the source builds one."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import io
import itertools
import os
import platform
import re
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

WHEEL = os.environ.get("NEXTBATCH_WHEEL")
# All that were built together with it.
FOLDER = Path(WHEEL).parent if WHEEL else None
VERSION = Path(WHEEL).name.split("-")[1] if WHEEL else ""
WHEELS = sorted(FOLDER.glob(f"nextbatch-{VERSION}-*.whl")) if FOLDER else []
SOURCES = sorted(FOLDER.glob(f"nextbatch-{VERSION}.tar.gz")) if FOLDER else []

# What builds them, where the tests run in a checkout.
BACKEND = Path(__file__).resolve().parent.parent / "backend.py"
BUILT = pytest.mark.skipif(not WHEEL, reason="NEXTBATCH_WHEEL names no wheel")


def kind_of(program: bytes, static: bool) -> str:
    """Read from its headers what a program runs on."""
    if program[:5] == b"\x7fELF\x02":
        count, at, size = struct.unpack_from("<H", program, 56)[0], struct.unpack_from("<Q", program, 32)[0], struct.unpack_from("<H", program, 54)[0]
        segments = [struct.unpack_from("<I", program, at + i * size)[0] for i in range(count)]
        assert (3 not in segments) == static, "only nextbatch-hpc may ask for a loader, and it must"  # PT_INTERP
        newest = max((int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", program)), default=0)
        assert static or newest <= 17, f"the program needs glibc 2.{newest}, the tag says 2.17"
        return {62: "linux x86_64", 183: "linux aarch64"}[struct.unpack_from("<H", program, 18)[0]]
    if program[:4] == b"\xcf\xfa\xed\xfe":
        return {0x0100000C: "macosx arm64", 0x01000007: "macosx x86_64"}[struct.unpack_from("<I", program, 4)[0]]
    assert program[:2] == b"MZ"
    at = struct.unpack_from("<I", program, 60)[0]
    assert program[at : at + 4] == b"PE\0\0"
    return {0x8664: "win amd64"}[struct.unpack_from("<H", program, at + 4)[0]]


def runner(kind: str) -> list[str] | None:
    """Return what runs a program of a kind here, if anything does."""
    system, machine = kind.split()
    if system != "linux" or sys.platform != "linux":
        return None
    if machine == platform.machine():
        return []
    emulator = shutil.which(f"qemu-{machine}-static")
    return [emulator] if emulator else None


def check(path: Path, folder: Path) -> str:
    """Check a wheel, and return what its program runs on."""
    _, version, python, abi, tags = path.name.removesuffix(".whl").split("-")
    assert (python, abi) == ("py3", "none")
    with zipfile.ZipFile(path) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    info = f"nextbatch-{version}.dist-info"
    assert re.findall(r"^Tag: (.*)$", files[f"{info}/WHEEL"].decode(), re.M) == [f"py3-none-{tag}" for tag in tags.split(".")]
    assert f"\nVersion: {version}\n" in files[f"{info}/METADATA"].decode()
    record = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(files[f"{info}/RECORD"].decode()))}
    assert set(record) == set(files)
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert record[name] == (("", "") if name.endswith("/RECORD") else (f"sha256={digest}", str(len(data)))), name
    programs = [name for name in files if name.startswith("nextbatch/bin/")]
    assert [Path(name).stem for name in programs] == (["nextbatch", "nextbatch-hpc"] if "linux" in tags else ["nextbatch"])
    for name in programs:
        kind = check_program(name, files[name], version, folder)
        assert modes[name] & stat.S_IXUSR
        system, machine = kind.split()
        for tag in tags.split("."):
            assert system in tag and tag.endswith(machine), (tag, kind)
    return kind


def check_program(name: str, program: bytes, version: str, folder: Path) -> str:
    """Check a program of a wheel, run it if this machine can, and return what it runs on."""
    assert version.encode() in program
    static = not name.endswith("-hpc")
    kind = kind_of(program, static)
    assert name.endswith(".exe") == kind.startswith("win")
    command = runner(kind)
    if command == [] or command is not None and static:  # an emulator has no loader of that machine
        file = folder / "nextbatch"
        file.write_bytes(program)
        file.chmod(0o755)
        done = subprocess.run([*command, str(file), "--version"], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.startswith(f"nextbatch {version} "), done
        file.unlink()
    return kind


def test_a_build_determines_its_version_once(monkeypatch, tmp_path):
    spec = importlib.util.spec_from_file_location("backend", BACKEND)
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    commits = itertools.count(1)

    def run(*command, **environment):
        """Answer like git in a checkout that gets a commit between any two questions, and like go."""
        if command[0] == "git":
            return str(next(commits))
        Path(command[command.index("-o") + 1]).write_text(" ".join(command))
        return ""

    monkeypatch.setattr(backend, "HERE", tmp_path)
    monkeypatch.setattr(backend, "GO", tmp_path)
    monkeypatch.setattr(backend, "run", run)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(BACKEND.with_name(name), tmp_path)
    (tmp_path / "LICENSE").touch()
    (tmp_path / "version.go").write_text('const Version = "1.2.3-dev"\n')
    for target in ("linux/amd64", "windows/amd64"):
        with zipfile.ZipFile(tmp_path / backend.wheel(tmp_path, target)) as archive:
            texts = [path + archive.read(path).decode() for path in archive.namelist()]
        assert {found for text in texts for found in re.findall(r"1\.2\.3\.dev[0-9+g]*", text)} == {"1.2.3.dev1+g2"}


@BUILT
@pytest.mark.parametrize("path", WHEELS, ids=lambda p: p.name.split("-")[-1])
def test_wheel(path, tmp_path):
    check(path, tmp_path)


@BUILT
@pytest.mark.skipif(not shutil.which("go"), reason="there is no Go to compile the program with")
@pytest.mark.skipif(sys.version_info < (3, 11), reason="once is enough")
@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.name)
def test_source_builds_a_wheel(source, tmp_path):
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    code = "import backend, sys; print(backend.build_wheel(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = tmp_path / done.stdout.split()[-1]
    assert made.name.split("-")[1] == VERSION
    assert check(made, tmp_path).split()[1] in (platform.machine(), "amd64", "arm64")
