"""Carries batches to Label Studio, and labels back.

    python3 label_studio.py config TARGET                  prints the labelling interface of a project
    python3 label_studio.py tasks BATCH.csv ID TARGET      prints the rows of a batch as tasks to import
    python3 label_studio.py labels EXPORT.json ID TARGET   prints the labels of an export (format JSON) as a table

ID and TARGET are columns: that of the ids, and the one that people fill in.
"""

import csv
import json
import sys
from xml.sax.saxutils import quoteattr

# What campaign ask adds to the inputs of a row. None of it helps to label, and the reason might sway people.
OWN = {"campaign", "pick", "score", "reason"}


def config(target):
    print(f"""<View>
  <Header value="$row" />
  <Text name="inputs" value="$inputs" />
  <Number name={quoteattr(target)} toName="inputs" step="0.000001" required="true" />
</View>""")


def tasks(path, row_id, target):
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    hidden = OWN | {row_id, target}
    json.dump([{"data": {
        "row": row[row_id],
        "inputs": "\n".join(f"{name}: {value}" for name, value in row.items() if name not in hidden),
    }} for row in rows], sys.stdout, indent=1)


def labels(path, row_id, target):
    with open(path, encoding="utf-8") as file:
        exported = json.load(file)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow([row_id, target])
    for task in exported:
        for annotation in task["annotations"]:
            if annotation["was_cancelled"]:
                print(f"skipped: {task['data']['row']}", file=sys.stderr)
                continue
            for part in annotation["result"]:
                if part["from_name"] == target and part["type"] == "number":
                    out.writerow([task["data"]["row"], part["value"]["number"]])


if __name__ == "__main__":
    {"config": config, "tasks": tasks, "labels": labels}[sys.argv[1]](*sys.argv[2:])
