"""Missing patterns: hides views of samples, for experiments.

Examples
--------
>>> import numpy as np
>>> mask = PerView(0.3).mask(10, 3, seed=0)
>>> mask.shape, mask.sum(axis=0).tolist()
((10, 3), [7, 7, 7])
>>> first, second, third = hide([np.ones((10, 2))] * 3, mask)
>>> int(np.isnan(first).all(axis=1).sum())
3
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _cdimc
from ._estimator import _whole
from ._views import check_same_rows

__all__ = [
    "Blocks",
    "Cells",
    "Complete",
    "IncompleteSamples",
    "Paired",
    "Pattern",
    "PerView",
    "Text",
    "hide",
]


class Pattern:
    """A rule that selects the missing views of each sample; its text is a ``--pattern`` of the command."""

    _name: ClassVar[str]

    @property
    def text(self) -> str:
        """Text of the pattern, as for the command."""
        return ":".join([self._name, *map(_spelled, vars(self).values())])

    def mask(self, n_samples: int, n_views: int, seed: int) -> NDArray[np.bool_]:
        """Returns a mask of this pattern; the same seed gives the same mask, here and in the command.

        Parameters
        ----------
        n_samples, n_views : int
            Shape of the mask.
        seed : int
            Seed of the draw.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_views)
            True if observed; every sample has a view and every view a sample.
        """
        rule = "must be a whole number of at least 1"
        shape = _whole("n_samples", n_samples, rule, 1), _whole("n_views", n_views, rule, 1)
        return _cdimc.mask(self.text, shape, _whole("seed", seed, "must be a whole number of at least 0"))


@dataclass(frozen=True)
class Complete(Pattern):
    """Nothing is missing."""

    _name = "complete"


@dataclass(frozen=True)
class Text(Pattern):
    """A pattern in the syntax of ``--pattern``, including patterns without a class in this module.

    Parameters
    ----------
    pattern : str
        ``"chain"``, ``"ring"``, ``"random-views:2"`` (views per sample), ``"given:110,011"`` (one row per sample, 1 if
        observed), or the text of another class.
    """

    pattern: str

    @property
    def text(self) -> str:
        """Text of the pattern, as for the command."""
        return self.pattern


@dataclass(frozen=True)
class PerView(Pattern):
    """A fraction of the samples, rounded down, is missing from every view.

    Parameters
    ----------
    rate : float or sequence of float
        Fraction in [0, 1), or one fraction per view.
    """

    _name = "per-view"
    rate: float | Sequence[float]


@dataclass(frozen=True)
class Paired(Pattern):
    """A fraction of the samples keeps every view; the others keep one view, split evenly over the views.

    Parameters
    ----------
    ratio : float
        Fraction of complete samples, in [0, 1].
    """

    _name = "paired"
    ratio: float


@dataclass(frozen=True)
class IncompleteSamples(Pattern):
    """A fraction of the samples is incomplete.

    Parameters
    ----------
    rate : float
        Fraction in [0, 1].
    mechanism : {"mem", "mcar", "mnar", "pm"}
        Missing views of an incomplete sample: all except one, random views, the same random views for all samples that
        lose as many, or random views of a few.
    """

    _name = "incomplete"
    rate: float
    mechanism: Literal["mem", "mcar", "mnar", "pm"] = "mem"


@dataclass(frozen=True)
class Cells(Pattern):
    """A fraction of all (sample, view) cells is missing.

    Parameters
    ----------
    rate : float
        Fraction in [0, 1).
    """

    _name = "cells"
    rate: float


@dataclass(frozen=True)
class Blocks(Pattern):
    """A block of consecutive samples is missing from every view; the blocks of the views follow each other.

    Parameters
    ----------
    rate : float
        Fraction of the samples per block, in [0, 1).
    """

    _name = "blocks"
    rate: float


def _spelled(value: str | float | Sequence[float]) -> str:
    """Returns a parameter as the command spells it; a comma follows each rate of a sequence."""
    if isinstance(value, str):
        return value
    rates = np.asarray(value, dtype=np.float64)
    return repr(float(rates)) if rates.ndim == 0 else "".join(f"{float(rate)!r}," for rate in rates)


def hide(views: Sequence[ArrayLike] | Mapping[str, ArrayLike], mask: ArrayLike) -> Any:
    """Returns copies of the views with rows of NaN for all False cells of the mask.

    Parameters
    ----------
    views : list or dict of array-like of shape (n_samples, n_features)
        One array per view.
    mask : array-like of bool of shape (n_samples, n_views)
        True if observed.

    Returns
    -------
    list of ndarray, or dict of ndarray if ``views`` is a dict
        One array per view.
    """
    if isinstance(views, Mapping):
        return dict(zip(views, hide(list(views.values()), mask)))
    check_same_rows({**{f"view {v}": view for v, view in enumerate(views)}, "the mask": mask})
    entries = np.asarray(mask)
    if (odd := entries[(entries != 0) & (entries != 1)]).size:
        raise ValueError(f"the mask has the value {odd[0]}: must be 1 where observed, 0 where missing")
    observed = entries.astype(bool)
    hidden = []
    for v, view in enumerate(views):
        if method := next((name for name in ("toarray", "to_df") if hasattr(view, name)), None):
            raise ValueError(f"view {v} is a {type(view).__name__}: must be an array, as its {method}() gives")
        # asarray would show masked values.
        dtype = np.result_type(np.asarray(view), np.float32)
        values = np.ma.array(view, dtype=dtype, copy=True).filled(np.nan)
        if observed.shape != (len(values), len(views)):
            raise ValueError(
                f"the mask has shape {observed.shape}: must be ({len(values)}, {len(views)}), samples by views"
            )
        values[~observed[:, v]] = np.nan
        hidden.append(values)
    return hidden
