"""Writes small files with NumPy, SciPy and pandas, and what is in them.

Run it in this folder. The files are committed, so that the tests need no Python;
expected.json holds, for each, the numbers or texts that a reader must find, or
that it must refuse the file.
"""
import json
import math

import numpy as np
import pandas as pd
import scipy.io
import scipy.sparse

expected = []


def number(v):
    v = float(v)
    return v if math.isfinite(v) else str(v)


def note(file, values, array=""):
    values = np.asarray(values)
    table = values.reshape(len(values), -1)
    expected.append({"file": file, "array": array, "rows": table.shape[0], "cols": table.shape[1],
                     "values": [number(v) for v in table.ravel()]})


def refuse(file, why, array=""):
    expected.append({"file": file, "array": array, "refused": why})


def npy(name, values, version=None, refused=""):
    file = name + ".npy"
    with open(file, "wb") as f:
        np.lib.format.write_array(f, values, version=version)
    if refused:
        refuse(file, refused)
    else:
        note(file, values)


base = np.array([[1.5, -2.25, 3], [1e-3, 5, -6.125]])
npy("version1", base, (1, 0))
npy("version2", base, (2, 0))
npy("version3", base, (3, 0))
npy("fortran", np.asfortranarray(base))
npy("fortran_single_big_endian", np.asfortranarray(base.astype(">f4")))
npy("big_endian", base.astype(">f8"))
npy("half", np.array([[1, -0.5, 65504], [2 ** -24, 0.1, 0]], dtype="<f2"))
npy("half_special", np.array([[np.inf, -np.inf, np.nan]], dtype=">f2"))
npy("special", np.array([[np.nan, np.inf], [-np.inf, -0.0]]))
npy("single", base.astype("<f4"))
for kind in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]:
    info = np.iinfo(kind)
    top = min(int(info.max), 2 ** 53)
    low = max(int(info.min), -2 ** 53)
    npy("integers_" + kind, np.array([[low, 0], [top, 7]], dtype="<" + kind))
    npy("integers_big_endian_" + kind, np.array([[low, 0], [top, 7]], dtype=">" + kind))
npy("bool", np.array([[True, False], [False, True]]))
npy("one_dimension", np.array([1.0, 2.0, 3.0]))
npy("one_row", base[:1])
npy("one_column", base[:, :1].copy())
npy("not_contiguous", base[:, ::2])
npy("structured", np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")]), refused="format")
npy("structured_nested", np.array([((1, 2), 2.0)], dtype=[("a", [("x", "<i4"), ("y", "<i4")]), ("b", "<f8", (2,))]), refused="format")
npy("complex", np.array([[1 + 2j]]), refused="format")
npy("text", np.array(["a", "bc"]), refused="format")
npy("bytes", np.array([b"a", b"bc"]), refused="format")
npy("dates", np.array(["2020-01-01"], dtype="datetime64[D]"), refused="format")
npy("objects", np.array([1, "a"], dtype=object), refused="format")
npy("long_double", np.array([1.5], dtype=np.longdouble), refused="format")
npy("scalar", np.array(1.5), refused="shape")
npy("three_dimensions", np.zeros((2, 2, 2)), refused="shape")
npy("no_rows", np.zeros((0, 3)), refused="empty")

np.savez("several.npz", X=base, y=np.array([1.0, 2.0]), labels=np.array(["a", "b"]))
note("several.npz", base, "X")
note("several.npz", np.array([1.0, 2.0]), "y")
refuse("several.npz", "array", "")
refuse("several.npz", "array", "z")
refuse("several.npz", "format", "labels")
np.savez_compressed("compressed.npz", np.asfortranarray(base.astype(">f4")))
note("compressed.npz", base.astype("f4"), "")
note("compressed.npz", base.astype("f4"), "arr_0")

variables = {
    "doubles": base, "singles": base.astype("f4"), "small": np.array([[1, 2], [3, 255]], dtype="u1"),
    "long": np.array([[-5], [2 ** 40]], dtype="i8"), "logical": np.array([[True, False]]),
    "text": "hello", "cell": np.array([1, "a"], dtype=object), "struct": {"a": 1.0, "b": base},
    "sparse": scipy.sparse.csc_matrix(np.eye(3)), "complex": np.array([[1 + 2j]]), "scalar": 3.5,
    "a_name_of_thirty_one_characters": np.array([[1.0]]),
}
for file, compress in [("plain.mat", False), ("compressed.mat", True)]:
    scipy.io.savemat(file, variables, do_compression=compress, oned_as="column")
    for name in ["doubles", "singles", "small", "long", "logical", "scalar", "a_name_of_thirty_one_characters"]:
        note(file, np.atleast_2d(variables[name]), name)
    refuse(file, "format", "complex")
    for name in ["text", "cell", "struct", "sparse", ""]:
        refuse(file, "array", name)
scipy.io.savemat("version4.mat", {"x": base}, format="4")
refuse("version4.mat", "format", "x")

frame = pd.DataFrame({
    "number": [1.5, np.nan, -3e-300, np.inf],
    "whole": [1, 2, 3, 2 ** 53],
    "word": ["plain", 'with "quotes"', "with, comma", "two\nlines"],
    "umlaut ü": ["ä", "日本", "", None],
    "category": pd.Categorical(["b", "a", None, "b"]),
    "flag": [True, False, True, False],
    "day": pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-04"]),
})


def csv(file, columns, **options):
    frame.to_csv(file, lineterminator=options.pop("lineterminator", "\n"), **options)
    expected.append({"file": file, "columns": columns})


def texts(column):
    return ["" if pd.isna(v) else str(v) for v in column]


def columns(index):
    out = [{"name": "column0", "kind": "numeric", "values": ["0", "1", "2", "3"]}] if index else []
    for name, kind in [("number", "numeric"), ("whole", "numeric"), ("word", "categorical"), ("umlaut ü", "categorical"),
                       ("category", "categorical"), ("flag", "categorical")]:
        out.append({"name": name, "kind": kind, "values": texts(frame[name])})
    out.append({"name": "day", "kind": "categorical", "values": ["2020-01-01", "2020-01-02", "", "2020-01-04"]})
    return out


csv("index.csv", columns(True))
csv("plain.csv", columns(False), index=False)
csv("windows.csv", columns(False), index=False, lineterminator="\r\n", encoding="utf-8-sig")
csv("all_quoted.csv", columns(False), index=False, quoting=1)
csv("tabs.tsv", columns(False), index=False, sep="\t")
csv("missing_na.csv", columns(False), index=False, na_rep="NA")
csv("compressed.csv.gz", columns(False), index=False, compression={"method": "gzip", "mtime": 0})
np.savetxt("savetxt.csv", base, delimiter=",")
expected.append({"file": "savetxt.csv", "columns": [
    {"name": "column%d" % j, "kind": "numeric", "values": [repr(float(v)) for v in base[:, j]]} for j in range(3)]})
pd.DataFrame(base).to_csv("numbered_columns.csv")
expected.append({"file": "numbered_columns.csv", "columns": [
    {"name": "column0", "kind": "numeric", "values": ["0", "1"]}] + [
    {"name": str(j), "kind": "numeric", "values": [repr(float(v)) for v in base[:, j]]} for j in range(3)]})

with open("expected.json", "w") as f:
    json.dump(expected, f, indent=1, ensure_ascii=False)
    f.write("\n")
