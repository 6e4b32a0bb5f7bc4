"""The recipes run as their pages show them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from test_docs import ROOT, skip_without

RECIPES = ROOT / "docs" / "recipes"
PAGES = ["molecules", "atoms", "own-model", "foundation-models"]


def blocks(page: str, language: str) -> list[str]:
    text = (RECIPES / f"{page}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def commands(page: str) -> list[list[str]]:
    """The lines of a page that run Python."""
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith("python ")]


@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs(page, tmp_path):
    (command,) = commands(page)
    script = shutil.copy(RECIPES / command[1], tmp_path)
    skip_without(Path(script).read_text())
    # The package is where this process has found it, wherever the script runs.
    path = os.pathsep.join([str(Path(sys.modules["nextbatch"].__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, *command[1:]], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_the_page_shows_its_script(page):
    (command,) = commands(page)
    script = (RECIPES / command[1]).read_text()
    assert blocks(page, "python")
    for block in blocks(page, "python"):
        assert any(textwrap.indent(block, indent) in script for indent in ("", "    ", "        ")), block


def test_the_index_names_every_page():
    index = (RECIPES / "README.md").read_text()
    pages = sorted(path.name for path in RECIPES.glob("*.md") if path.name != "README.md")
    assert [page for page in pages if f"]({page})" not in index] == []
