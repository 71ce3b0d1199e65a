"""Names of types that many files use."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Truths = NDArray[np.bool_]
Labels = NDArray[np.int_]  # 0..K-1, one of each example
Stream = tuple[Array, Labels]  # inputs (n, d), labels (n,)


class Untyped:
    """What a class of a library without types is for mypy: it may have any attribute.

    If it were `Any`, mypy would no longer know the parameters of a dataclass that is derived.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
