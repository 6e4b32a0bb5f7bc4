"""Writes one small table the way that people's programs write it.

Run it in this folder; it needs pandas, pyarrow, openpyxl and XlsxWriter. The files
are committed, so that the tests need no Python.
"""
import datetime
import os
import shutil

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

first = datetime.date(2024, 2, 25)
rows = 40
frame = pd.DataFrame({
    "id": ["r%02d" % i for i in range(rows)],
    "temperature": [round(-5 + 1.37 * i - 0.02 * i * i, 3) for i in range(rows)],
    "pressure": [98000.25 + 512.5 * ((7 * i) % rows) for i in range(rows)],
    "material": [["Grün", "Weiß", "blau"][i % 3] for i in range(rows)],
    "day": [(first + datetime.timedelta(days=i)).isoformat() for i in range(rows)],
    "y": [round(0.1 * i * i - i, 2) if i % 2 == 0 else None for i in range(rows)],
})
frame.to_csv("plain.csv", index=False)
frame.to_csv("utf16.csv", index=False, encoding="utf-16")
with open("utf16be.csv", "wb") as f:
    f.write(b"\xfe\xff" + frame.to_csv(index=False).encode("utf-16-be"))
frame.to_csv("windows1252.csv", index=False, encoding="cp1252")
frame.to_json("lines.jsonl", orient="records", lines=True, force_ascii=False)
frame.to_json("escaped.ndjson.gz", orient="records", lines=True, force_ascii=True,
              compression={"method": "gzip", "mtime": 0})


def german(v):
    return "" if pd.isna(v) else format(v, ",").replace(",", "#").replace(".", ",").replace("#", ".")


local = frame.copy()
for name in ["temperature", "pressure", "y"]:
    local[name] = [german(v) for v in local[name]]
local.to_csv("german.csv", index=False, sep=";", encoding="cp1252")
with open("blanks.dat", "w") as f:
    f.write(frame.astype(object).fillna("NA").to_string(index=False) + "\n")

dated = frame.copy()
dated["day"] = pd.to_datetime(dated["day"]).dt.date
dated.to_excel("openpyxl.xlsx", index=False, sheet_name="Messung")
with pd.ExcelWriter("xlsxwriter.xlsx", engine="xlsxwriter", date_format="dd/mm/yyyy",
                    engine_kwargs={"options": {"date_1904": True}}) as writer:
    pd.DataFrame({"note": ["nothing here"]}).to_excel(writer, sheet_name="Notes", index=False)
    dated.to_excel(writer, sheet_name="Messung 2", index=False, startrow=3, startcol=2)

book = openpyxl.Workbook()
sheet = book.active
sheet.append(["when", "clock", "serial", "flag", "text number", "mixed", "span"])
sheet.append([datetime.datetime(2024, 2, 29, 13, 30, 15), datetime.time(6, 45), 1.5, True, "5", "x", datetime.timedelta(hours=36)])
sheet.append([datetime.datetime(1900, 1, 31), datetime.time(23, 59, 59), -2.25e-300, False, "6.5", 7, datetime.timedelta(minutes=1)])
sheet.append([None, None, "#N/A", None, None, None, None])
book.save("types.xlsx")

book = openpyxl.Workbook()
sheet = book.active
sheet.append(["a", "b"])
sheet.append([1, "=A2*2"])
book.save("formula.xlsx")

shutil.rmtree("parts", ignore_errors=True)
os.mkdir("parts")
table = pa.Table.from_pandas(dated, preserve_index=False)
pq.write_table(table.slice(0, 15), "parts/part-0.parquet")
pq.write_table(table.slice(15), "parts/part-1.parquet")
open("parts/_SUCCESS", "w").close()
