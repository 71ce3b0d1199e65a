"""Names of types that many files use."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Truths = NDArray[np.bool_]
Labels = NDArray[np.int_]  # 0..K-1, one of each example
Stream = tuple[Array, Labels]  # inputs (n, d), labels (n,)
