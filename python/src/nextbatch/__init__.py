"""Which rows of my table should I label next?

`select` picks a batch of rows to label: informative, different from one another, and typical of
the rest. `select_features` does so by features of your own model. `Campaign` labels a table over
weeks: it hands out batches, takes labels, and says when to stop. The methods are those of
Holzmüller, Zaverkin, Kästner and Steinwart, "A Framework and Benchmark for Deep Batch Active
Learning for Regression" (JMLR 2023).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._answers import Added, Asked, Audit, Changed, Event, Finding, Predictions, Status, Told, Waiting, Wrong
from ._batch import Batch
from ._binary import version as _version
from ._campaign import Campaign
from ._errors import (
    DataError,
    DeviceError,
    NextbatchError,
    NextbatchWarning,
    RequestError,
    RowsError,
    ServiceError,
    TooLittleMemoryError,
    WorkerError,
)
from ._select import select, select_features
from ._space import Space

if TYPE_CHECKING:
    from ._regressor import Regressor
    from ._results import read_results
    from ._strategy import QueryStrategy

__version__ = _version()

__all__ = [
    "Added",
    "Asked",
    "Audit",
    "Batch",
    "Campaign",
    "Changed",
    "DataError",
    "DeviceError",
    "Event",
    "Finding",
    "NextbatchError",
    "NextbatchWarning",
    "Predictions",
    "QueryStrategy",
    "Regressor",
    "RequestError",
    "RowsError",
    "ServiceError",
    "Space",
    "Status",
    "Told",
    "Waiting",
    "TooLittleMemoryError",
    "WorkerError",
    "Wrong",
    "read_results",
    "select",
    "select_features",
]

# What needs packages besides NumPy is imported when it is first used.
_LATER = {"QueryStrategy": "_strategy", "Regressor": "_regressor", "read_results": "_results"}
_MODULES = ("atoms", "compat", "torch")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
