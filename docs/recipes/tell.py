"""Tells a campaign what simulations have written: python3 tell.py c.db ID TARGET FOLDER/t042.label ...

A file is named after its row and has a label. If it is empty, the simulation has failed, and the file beside it with the
ending .log has the reason. Telling the same files again changes nothing.
"""

import csv
import pathlib
import subprocess
import sys

store, id_column, target, *paths = sys.argv[1:]
labels, failed = [], []
for path in map(pathlib.Path, paths):
    label = path.read_text().strip()
    if label:
        labels.append([path.stem, label])
    else:
        failed.append((path.stem, path.with_suffix(".log").read_text().strip().split("\n")[-1]))
if labels:
    table = pathlib.Path(paths[0]).with_name("labels.csv")
    with open(table, "w", newline="") as file:
        csv.writer(file).writerows([[id_column, target], *labels])
    subprocess.run(["nextbatch", "campaign", "tell", store, table, "--quiet"], check=True)
for row, reason in failed:
    request = f"{pathlib.Path(paths[0]).parent.name}-{row}-failed"
    subprocess.run(["nextbatch", "campaign", "fail", store, row, "--reason", reason, "--quiet", "--request", request], check=True)
