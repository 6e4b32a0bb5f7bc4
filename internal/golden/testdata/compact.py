"""Writes golden.zip, the part of the golden numbers that belongs to the project, from the complete folder.

    python3 compact.py ../shared/golden internal/golden/testdata/golden.zip

The numbers were computed by the authors' package bmdal_reg 3.0.2 (github.com/dholzmueller/bmdal_reg, commit 08c28e1) with
PyTorch 1.13.0a0 and NumPy 1.24.2; manifest.json has the same versions, and this program checks them. The part has every
kernel, transformation and selection method. It leaves out the large pool, and repetitions with other features, another noise
or another activation. Of equal files it has one; same.json maps the others to it.
"""

import json
import sys
import zipfile
from pathlib import Path

VERSIONS = {"torch": "1.13.0a0", "numpy": "1.24.2", "reference_commit": "08c28e1 (bmdal_reg 3.0.2)"}
LEFT_OUT = ("large/", "acs/sigma_0.001/", "sel/gradsketch/", "sel/gradsketch_post/", "silu/rowkernel/")


def main(folder: Path, target: Path) -> None:
    made = json.loads((folder / "manifest.json").read_text())["versions"]
    if made != VERSIONS:
        raise SystemExit(f"{folder} was made with {made}, not with {VERSIONS}")
    names = sorted(f.relative_to(folder).as_posix() for f in folder.rglob("*") if f.is_file())
    first: dict[bytes, str] = {}
    same: dict[str, str] = {}
    with zipfile.ZipFile(target, "w") as archive:
        for name in names:
            if name.startswith(LEFT_OUT) or name.endswith("_relgap.npy"):  # which no test reads
                continue
            data = (folder / name).read_bytes()
            if first.setdefault(data, name) == name:
                write(archive, name, data)
            else:
                same[name] = first[data]
        write(archive, "same.json", json.dumps(same, indent=0).encode())


def write(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # so that the same files give the same bytes
    archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
