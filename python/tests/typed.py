"""What type checkers say of calls. mypy reads this file; nothing runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import nextbatch
from nextbatch import Regressor

if TYPE_CHECKING:
    from typing_extensions import assert_type

    Floats = npt.NDArray[np.float64]
    model = Regressor()
    assert_type(model.predict([[1.0]]), Floats)
    assert_type(model.predict([[1.0]], return_std=True), tuple[Floats, Floats])
    assert_type(model.predict([[1.0]], return_interval=0.9), tuple[Floats, Floats, Floats])
    assert_type(model.predict([[1.0]], return_interval=True), tuple[Floats, Floats, Floats])
    assert_type(model.predict([[1.0]], True, 0.9), tuple[Floats, Floats, Floats, Floats])
    assert_type(model.predict([[1.0]], False, 0.9), tuple[Floats, Floats, Floats])

    nextbatch.select([[1.0]], [1.0], learner="gp", missing="drop", censored="limit", max_memory="8GiB")
    nextbatch.select([[1.0]], [1.0], learner="forest")  # type: ignore[arg-type]
    Regressor(missing="guess", censored="keep")  # type: ignore[arg-type]
    nextbatch.Campaign.new("c.db", [[1.0]], "y", learner="boosting")  # type: ignore[arg-type]

    def either(wanted: bool) -> None:
        assert_type(model.predict([[1.0]], return_std=wanted), Floats | tuple[Floats, ...])
