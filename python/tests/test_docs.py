"""The examples of the documentation run."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import nextbatch
from nextbatch import _binary

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


def run(code: str, name: str) -> None:
    """Run code as a script, in this process: importing PyTorch and scikit-learn takes longer than most scripts."""
    exec(compile(code, name, "exec"), {"__name__": "__main__", "__file__": name})


@pytest.mark.parametrize(("page", "number", "code"), BLOCKS, ids=[f"{p.relative_to(ROOT)} {n}" for p, n, _ in BLOCKS])
@pytest.mark.filterwarnings("ignore")
def test_pages(page, number, code, tmp_path, monkeypatch):
    skip_without(code)
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "table.csv")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nextbatch").symlink_to(_binary.path())
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    run(code, f"{page.name} {number}")


@pytest.mark.parametrize("example", sorted((ROOT / "python" / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_examples(example, tmp_path, monkeypatch, capsys):
    code = example.read_text()
    skip_without(code)
    if "Regressor" in code:
        pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    run(code, str(example))
    assert capsys.readouterr().out


MODULES = ["_answers", "_batch", "_campaign", "_compat_features", "_results", "_select", "_regressor", "_strategy", "_xyz", "atoms", "compat", "torch"]
#: What an example needs besides what its module imports.
NEEDED = {"to_frame": "pandas", "plot": "matplotlib", "read_results": "pandas"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    try:
        module = importlib.import_module(f"nextbatch.{name}")
    except ImportError as error:
        pytest.skip(str(error))
    if name == "_results":
        benchmark(tmp_path)
    if name == "atoms":
        pytest.importorskip("ase")
    ran, failures = 0, []
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        needed = NEEDED.get(test.name.rsplit(".", 1)[-1])
        if test.examples and (needed is None or importlib.util.find_spec(needed) is not None):
            failed, tried = doctest.DocTestRunner().run(test)
            failures += [test.name] if failed else []
            ran += tried
    assert not failures
    if not ran:
        pytest.skip("the packages of the examples are not installed")


def benchmark(folder: Path) -> None:
    """Make the results file of the example."""
    (folder / "own.csv").write_text("a,b,y\n" + "".join(f"{np.sin(i)},{np.cos(i * i)},{np.sin(3 * i)}\n" for i in range(200)))
    subprocess.run([_binary.path(), "bench", "run", "--table", "own.csv", "--target", "y", "--specs", "random", "--splits", "0", "--rounds", "1", "--batch", "8",
                    "--start", "32", "--valid", "16", "--epochs", "2", "--hidden", "8", "--results", "own.db", "--quiet"], cwd=folder, check=True)  # fmt: skip


def public(name: str) -> Iterator[tuple[str, object]]:
    """Yield what a user calls: functions, and classes with their methods."""
    thing = getattr(nextbatch, name)
    if isinstance(thing, type) and issubclass(thing, (BaseException, Warning)):
        return
    yield name, thing
    for method, function in vars(thing).items() if isinstance(thing, type) else ():
        function = getattr(function, "__func__", function)  # of a class method
        if inspect.isfunction(function) and not method.startswith("_"):
            yield f"{name}.{method}", function


def test_everything_has_a_docstring():
    """What a user calls also has an example. What calls return has its attributes explained."""
    returned = {"Added", "Asked", "Audit", "Changed", "Event", "Finding", "Predictions", "Status", "Told", "Waiting", "Wrong"}
    for name in nextbatch.__all__:
        try:
            assert getattr(nextbatch, name).__doc__, name
        except ImportError:
            continue
        for path, thing in public(name):
            assert ">>> " in thing.__doc__ or path in returned, f"{path} has no example"
