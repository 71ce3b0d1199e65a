"""What `kernel=` of an estimator may be: a word, or one of these objects."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True)
class Auto:
    """Linear experts and nonlinear ones of several kinds, weighed by how well each predicts.

    Parameters
    ----------
    n_components
        The most kernel features that a nonlinear expert has, give or take: each has a multiple of
        it, for the width of its kernel. An integer of at least 1; 200 by default. The time of a
        forecast grows as its square.

    Examples
    --------
    >>> import mixable as mx
    >>> mx.GAFClassifier(kernel=mx.kernels.Auto(50))  # as "auto", in less time
    GAFClassifier(kernel=Auto(n_components=50))
    """

    n_components: int = 200


@dataclass(frozen=True)
class RBF:
    """Features of the kernel exp(-gamma |x - x'|^2), x the scaled inputs, beside linear ones.

    Parameters
    ----------
    n_components
        Number of kernel features of each width; an integer of at least 1, 200 by default. The time
        of a forecast grows as its square; see docs/benchmarks/nonlinear.md.
    gamma
        The kernel's inverse squared width, a number above 0: larger ones follow finer detail. None,
        the default, mixes over three, 1/8, 1 and 16 over the number of columns (of the first
        record, in river); with another `forecaster` it is 1 over that number.
    method
        How features are made. "fourier", the default: orthogonal random features. "nystroem":
        kernel values at landmarks, which are chosen as the stream goes by.

    Examples
    --------
    >>> import mixable as mx
    >>> mx.GAFRegressor(kernel=mx.kernels.RBF(100, method="nystroem"))
    GAFRegressor(kernel=RBF(n_components=100, gamma=None, method='nystroem'))
    """

    n_components: int = 200
    _: KW_ONLY
    gamma: float | None = None
    method: str = "fourier"


Kernel: TypeAlias = Auto | RBF | Literal["auto", "rbf"] | None
"""None is linear; "auto" is Auto(), "rbf" is RBF()."""

_WORDS: dict[str, Auto | RBF] = {"auto": Auto(), "rbf": RBF()}


def chosen(kernel: Any) -> Auto | RBF | None:
    """The object that a word stands for; None is linear.

    What an object contains is checked when a model is made with it.
    """
    if kernel is None or isinstance(kernel, Auto | RBF):
        return kernel
    if not (isinstance(kernel, str) and kernel in _WORDS):
        raise ValueError(
            "kernel must be None, 'rbf' or 'auto', or an RBF or Auto of mixable.kernels, "
            f"got {kernel!r:.80}"
        )
    return _WORDS[kernel]
