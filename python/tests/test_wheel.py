"""A wheel installs into a fresh environment, and the README's snippet runs there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

WHEEL = os.environ.get("NEXTBATCH_WHEEL")
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not WHEEL, reason="NEXTBATCH_WHEEL names no wheel")
def test_fresh_environment(tmp_path):
    venv.create(tmp_path / "fresh", with_pip=True)
    folder = tmp_path / "fresh" / ("Scripts" if os.name == "nt" else "bin")
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NEXTBATCH_BINARY")}

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    python = str(folder / "python")
    run(python, "-m", "pip", "install", "--quiet", WHEEL)
    version = run(python, "-c", "import nextbatch; print(nextbatch.__version__)").strip()
    assert run(str(folder / "nextbatch"), "--version").startswith(f"nextbatch {version} ")
    installed = run(python, "-m", "pip", "list", "--format", "freeze")
    assert set(re.findall(r"^(\w+)==", installed, re.M)) <= {"nextbatch", "numpy", "pip", "setuptools"}
    snippet = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)[0]
    run(python, "-c", snippet)
    if sys.platform == "linux":  # where there is a driver, the package runs nextbatch-hpc, which also works without one
        run(python, "-c", DRIVER)


DRIVER = """
import nextbatch
from nextbatch import _binary
for found, name in ((True, "nextbatch-hpc"), (False, "nextbatch")):
    _binary.has_driver = lambda: found
    assert _binary.path().endswith("/" + name), _binary.path()
_binary.has_driver = lambda: True
assert len(nextbatch.select_features(None, [[0.0, 1.0], [2.0, 3.0]], 1).indices) == 1
"""
