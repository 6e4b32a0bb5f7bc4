"""Prints a row of a CSV file as JSON, as oracles read it: python3 row.py batch.csv throw=t042"""

import csv
import json
import sys

path, which = sys.argv[1:]
column, value = which.split("=")


def number(text):
    try:
        return float(text)
    except ValueError:
        return text or None


with open(path, newline="") as file:
    row = next(row for row in csv.DictReader(file) if row[column] == value)
print(json.dumps({"id": value} | {name: number(text) for name, text in row.items() if name != column}))
