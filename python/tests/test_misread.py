"""Units and decimal marks in frames of text are read as those of files, or refused."""

from __future__ import annotations

import csv
import re
import warnings
from pathlib import Path

import nextbatch
from nextbatch import Campaign, NextbatchWarning

TABLES = Path(__file__).parents[2] / "testdata" / "misread"


def frame(name: str) -> dict[str, list[str | None]]:
    """Read a table as text."""
    text = (TABLES / name).read_text(encoding="utf-8")
    head = text.split("\n", 1)[0]
    rows = list(csv.reader(text.splitlines(), delimiter=next(mark for mark in "\t;," if mark in head)))
    return {key: [row[k] or None for row in rows[1:]] for k, key in enumerate(rows[0])}


def plain(text: str) -> str:
    """Return a message without the places in tables, which are lines of files and rows of frames, and their names."""
    text = re.sub(r"^(warning: )?[\w.]+\.(csv|tsv)(, line \d+(, column \d+ \(\w+\))?)?: ", "", text).split("; --")[0]
    return re.sub(r",? \(?(line|row) \d+( from 0)?( \([^)]*\))?\)?:?", "", text)


def done(folder: Path, command: list[str]) -> str:
    """Do what a command does, and return what is said."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if command[1] == "new":
                Campaign.new(folder / command[2], frame(command[3]), "y", id="id")
            elif command[1] == "add":
                Campaign(folder / command[2]).add(frame(command[3]))
            else:
                Campaign(folder / command[2]).tell(frame(command[3]), accept="--accept" in command)
        except nextbatch.NextbatchError as wrong:
            return "refused: " + str(wrong)
    return "\n".join(str(w.message) for w in caught if issubclass(w.category, NextbatchWarning))


def test_misread(tmp_path: Path) -> None:
    commands, doing, said = 0, False, ""
    wrong: list[str] = []
    for number, line in enumerate((TABLES / "expected.txt").read_text(encoding="utf-8").splitlines(), 1):
        sign, _, text = line.partition(" ")
        if sign == "$":
            code, command = ("3", text[2:]) if text.startswith("3 ") else ("0", text)
            words = command.split()
            doing = words[0] == "campaign" and words[1] in ("new", "add", "tell") and not re.search(r"\.xlsx|--decimal|--earlier", command)
            if doing:
                said = done(tmp_path, words)
                if said.startswith("refused") != (code == "3"):
                    wrong.append(f"line {number}: {said}")
                commands += 1
        elif doing and sign in ("<", ">"):
            if (plain(text) in plain(said)) != (sign == ">"):
                wrong.append(f"line {number}: {plain(text)!r} in {plain(said)!r}")
    assert not wrong, "\n".join(wrong)
    assert commands > 25


