"""Files of tensors (safetensors, bf16) and a manifest beside them."""
import hashlib
import json
import struct
from pathlib import Path

import torch


def save(path, tensors, about):
    """Tensors by name, as bf16, in the order of their names; about: values by name, written into the header."""
    header, parts, at = {"__metadata__": {k: json.dumps(v) for k, v in sorted(about.items())}}, [], 0
    for name in sorted(tensors):
        t = tensors[name].detach().to("cpu", torch.bfloat16).contiguous()
        parts.append(t.view(torch.int16).numpy().tobytes())
        header[name] = {"dtype": "BF16", "shape": list(t.shape), "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    data = struct.pack("<Q", len(text)) + text + b"".join(parts)
    Path(path).write_bytes(data)
    about = about | {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    Path(path).with_suffix(".json").write_text(json.dumps(about, indent=1, sort_keys=True) + "\n")


def load(path):
    """Tensors by name, as float32, and what the header says about them."""
    data = Path(path).read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    about = {k: json.loads(v) for k, v in header.pop("__metadata__").items()}
    body, tensors = bytearray(data[8 + size :]), {}
    for name, h in header.items():
        low, high = h["data_offsets"]
        flat = torch.frombuffer(body, dtype=torch.bfloat16, offset=low, count=(high - low) // 2)
        tensors[name] = flat.float().view(h["shape"])
    return tensors, about
