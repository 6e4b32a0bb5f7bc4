"""Builds the package (PEP 517): wheels that carry the program, and an sdist with its source.

A wheel is a zip file with the Python files, the program and three lists, so that there is no
need for a build tool. `python3 backend.py DIST` builds the wheel for this machine, and
`python3 backend.py DIST GOOS/GOARCH ...` the wheels of a release, because Go compiles for all
platforms, and the sdist.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# In an sdist the source of the program lies in go/, in a checkout around this folder.
GO = HERE / "go" if (HERE / "go").is_dir() else HERE.parent
MODULE = "github.com/nextbatch/nextbatch"

# Go runs on Linux without a C library, so the oldest tag is true, and that of musl, too. nextbatch-hpc, which
# Linux wheels carry as well, needs the loader of glibc; the package uses it only where glibc is (_binary.py).
TAGS = {
    "linux/amd64": "manylinux2014_x86_64.manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux2014_aarch64.manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    "darwin/arm64": "macosx_12_0_arm64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "windows/amd64": "win_amd64",
}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Build the wheel for this machine."""
    return wheel(Path(wheel_directory), go("env", "GOOS") + "/" + go("env", "GOARCH"))


def build_sdist(sdist_directory, config_settings=None):
    """Build the sdist, which compiles the program where Go is installed."""
    name = f"nextbatch-{version()}"
    path = Path(sdist_directory) / f"{name}.tar.gz"
    # Without the time and the name in the header of gzip, the same source gives the same bytes.
    with path.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        add(archive, f"{name}/PKG-INFO", metadata(licences()[:1]).encode())
        add(archive, f"{name}/LICENSE", (GO / "LICENSE").read_bytes())
        for file in [HERE / "pyproject.toml", HERE / "README.md", HERE / "backend.py", *python_files()]:
            add(archive, f"{name}/{file.relative_to(HERE).as_posix()}", file.read_bytes())
        for file in go_files():
            add(archive, f"{name}/go/{file.relative_to(GO).as_posix()}", file.read_bytes())
    return path.name


def wheel(folder: Path, platform: str) -> str:
    """Build the wheel for a platform and return its name."""
    tag = f"py3-none-{TAGS[platform]}"
    path = folder / f"nextbatch-{version()}-{tag}.whl"
    info = f"nextbatch-{version()}.dist-info"
    tags = "".join(f"Tag: py3-none-{one}\n" for one in TAGS[platform].split("."))
    files = {file.relative_to(HERE / "src").as_posix(): file.read_bytes() for file in python_files()}
    suffix = ".exe" if platform.startswith("windows/") else ""
    for program in programs(platform):
        files[f"nextbatch/bin/{program}{suffix}"] = compiled(platform, program)
    files[f"{info}/METADATA"] = metadata(licences()).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: nextbatch\nRoot-Is-Purelib: false\n{tags}".encode()
    scripts = "".join(f"{program} = nextbatch._binary:{SCRIPTS[program]}\n" for program in programs(platform))
    files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{scripts}".encode()
    for file in licences():
        files[f"{info}/licenses/{file.name}"] = file.read_bytes()
    record = "".join(f"{name},{digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if name.startswith("nextbatch/bin/") else 0o100644) << 16
            archive.writestr(entry, data)
    return path.name


# The commands of the package, and the functions behind them.
SCRIPTS = {"nextbatch": "main", "nextbatch-hpc": "main_hpc"}


def programs(platform: str) -> list[str]:
    """List the programs that a wheel carries: on Linux also the one that uses GPUs."""
    return [program for program in SCRIPTS if program == "nextbatch" or platform.startswith("linux/")]


def licences() -> list[Path]:
    """List the licence and, in a release, the file with those of all that the program contains."""
    return [GO / "LICENSE", *(Path(one) for one in [os.environ.get("NEXTBATCH_NOTICES")] if one)]


def compiled(platform: str, program: str) -> bytes:
    """Return a program for a platform, compiled without cgo, with the version of the package."""
    system, architecture = platform.split("/")
    target = HERE / "dist" / f"{program}-{system}-{architecture}"
    target.parent.mkdir(exist_ok=True)
    environment = {"CGO_ENABLED": "0", "GOOS": system, "GOARCH": architecture}
    flags = f"-s -w -X {MODULE}/cmd/nextbatch/cli.release={version()}"
    go("build", "-trimpath", "-buildvcs=false", f"-ldflags={flags}", "-o", str(target), f"./cmd/{program}", **environment)
    data = target.read_bytes()
    target.unlink()
    return data


@functools.cache  # a commit in the middle of a build must not give one package two versions
def version() -> str:
    """Return the version: that of an sdist, or that of the Go module, with the commit if it is not released."""
    if (HERE / "PKG-INFO").is_file():
        return re.search(r"^Version: (.*)$", (HERE / "PKG-INFO").read_text(), re.M).group(1)
    number, unreleased = re.search(r'^const Version = "([0-9.]+)(-dev)?"$', (GO / "version.go").read_text(), re.M).groups()
    if not unreleased:
        return number
    try:
        return f"{number}.dev{run('git', 'rev-list', '--count', 'HEAD')}+g{run('git', 'rev-parse', '--short=12', 'HEAD')}"
    except (OSError, subprocess.CalledProcessError):  # a copy without history
        return f"{number}.dev0"


def metadata(licences: list[Path]) -> str:
    """Return the core metadata, from pyproject.toml, which this reads as lines: Python 3.10 has no parser."""
    text = (HERE / "pyproject.toml").read_text()

    def value(key: str) -> str:
        return re.search(rf'^{key} = "(.*)"$', text, re.M).group(1)

    lines = [
        "Metadata-Version: 2.4", "Name: nextbatch", f"Version: {version()}", f"Summary: {value('description')}",
        f"License-Expression: {value('license')}", *(f"License-File: {file.name}" for file in licences), f"Requires-Python: {value('requires-python')}",
        "Description-Content-Type: text/markdown",
    ]  # fmt: skip
    lines += [f"Requires-Dist: {need}" for need in listed(re.search(r"^dependencies = (.*)$", text, re.M).group(1))]
    extras = re.search(r"^\[project.optional-dependencies\]\n(.*?)\n\n", text, re.M | re.S).group(1)
    for line in extras.splitlines():
        extra, needs = line.split(" = ", 1)
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {need}; extra == "{extra}"' for need in listed(needs)]
    return "\n".join(lines) + "\n\n" + (HERE / "README.md").read_text()


def listed(text: str) -> list[str]:
    """Return the strings of a list of TOML."""
    return re.findall(r'"([^"]*)"', text)


def python_files() -> list[Path]:
    """List the files of the package."""
    files = (HERE / "src" / "nextbatch").rglob("*")
    return sorted(f for f in files if f.suffix == ".py" or f.name == "py.typed")


def go_files() -> list[Path]:
    """List what the program is compiled from: every file of its packages, and what they embed."""
    template = (
        '{{if .Module}}{{if eq .Module.Path "' + MODULE + '"}}{{$d := .Dir}}'
        "{{range .GoFiles}}{{$d}}/{{.}}\n{{end}}{{range .SFiles}}{{$d}}/{{.}}\n{{end}}{{range .HFiles}}{{$d}}/{{.}}\n{{end}}"
        "{{range .IgnoredGoFiles}}{{$d}}/{{.}}\n{{end}}{{range .IgnoredOtherFiles}}{{$d}}/{{.}}\n{{end}}"
        "{{range .EmbedFiles}}{{$d}}/{{.}}\n{{end}}{{end}}{{end}}"
    )
    files = {Path(line) for platform in TAGS for line in listing(template, platform) if line}
    return sorted(f for f in files if not f.name.endswith("_test.go")) + [GO / n for n in ("go.mod", "go.sum", "LICENSE")]


def listing(template: str, platform: str) -> list[str]:
    system, architecture = platform.split("/")
    return go("list", "-deps", "-f", template, *(f"./cmd/{program}" for program in programs(platform)), GOOS=system, GOARCH=architecture, CGO_ENABLED="0").splitlines()


def go(*arguments: str, **environment: str) -> str:
    """Run the Go command in the source of the program."""
    try:
        return run("go", *arguments, **environment)
    except FileNotFoundError as error:
        raise SystemExit("nextbatch is compiled by Go 1.26: install it, or install a wheel for your platform") from error


def run(*command: str, **environment: str) -> str:
    return subprocess.run(command, cwd=GO, env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), 0o644
    archive.addfile(entry, io.BytesIO(data))


def digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    dist = Path(sys.argv[1])
    dist.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) == 2:
        print(build_wheel(dist))
    for one in sys.argv[2:]:
        print(wheel(dist, one))
    if len(sys.argv) > 2:
        print(build_sdist(dist))
