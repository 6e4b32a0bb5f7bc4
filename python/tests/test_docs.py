"""The examples of the documentation run."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nextbatch

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "python" / "README.md", ROOT / "docs" / "python.md"]
BLOCKS = [
    (page, number, code)
    for page in PAGES
    for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.S))
]


def skip_without(code: str) -> None:
    """Skip code that imports what is not installed."""
    for name in re.findall(r"^(?:import|from) (\w+)", code, re.M):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


def table(path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["name,temperature,pressure,material,y"]
    for i in range(150):
        label = f"{rng.normal():.3f}" if i % 3 == 0 else ""
        lines.append(f"s{i:03d},{rng.normal(50, 10):.2f},{rng.normal(1, 0.1):.4f},{rng.choice(['steel', 'brass'])},{label}")
    path.write_text("\n".join(lines) + "\n")


def run(code_or_file: list[str], folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, *code_or_file], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("page", "number", "code"), BLOCKS, ids=[f"{p.relative_to(ROOT)} {n}" for p, n, _ in BLOCKS])
def test_pages(page, number, code, tmp_path):
    skip_without(code)
    table(tmp_path / "table.csv")
    run(["-W", "ignore", "-c", code], tmp_path)


@pytest.mark.parametrize("example", sorted((ROOT / "python" / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_examples(example, tmp_path):
    skip_without(example.read_text())
    if "Regressor" in example.read_text():
        pytest.importorskip("sklearn")
    assert run([str(example)], tmp_path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["_batch", "_select", "_regressor", "_strategy", "torch"])
def test_docstrings(name):
    try:
        module = importlib.import_module(f"nextbatch.{name}")
    except ImportError as error:
        pytest.skip(str(error))
    failed, tried = doctest.testmod(module)
    assert failed == 0 and tried > 0


def test_everything_has_a_docstring():
    for name in nextbatch.__all__:
        try:
            assert getattr(nextbatch, name).__doc__, name
        except ImportError:
            pass
