"""Missing patterns: which views of which samples to hide, for experiments.

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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _cdimc

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
    """A rule for which samples miss which views; its text is what the command's ``--pattern`` takes."""

    @property
    def text(self) -> str:
        """The pattern as the command takes it."""
        raise NotImplementedError

    def mask(self, n_samples: int, n_views: int, seed: int) -> NDArray[np.bool_]:
        """A mask of this pattern; the same seed always gives the same one, here and in the command.

        Parameters
        ----------
        n_samples, n_views : int
            The shape.
        seed : int
            The seed of the draw.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_views)
            True where observed; every sample has a view and every view a sample.
        """
        return _cdimc.mask(self.text, (n_samples, n_views), seed)


@dataclass(frozen=True)
class Complete(Pattern):
    """Nothing is missing."""

    @property
    def text(self) -> str:
        """The pattern as the command takes it."""
        return "complete"


@dataclass(frozen=True)
class Text(Pattern):
    """A pattern as the command's ``--pattern`` spells it, of those that have no class here too.

    Parameters
    ----------
    pattern : str
        ``"chain"``, ``"ring"``, ``"random-views:2"`` (views a sample keeps), or ``"given:110,011"`` (a row a sample,
        1 where observed). The texts of the classes here are taken too.
    """

    pattern: str

    @property
    def text(self) -> str:
        """The pattern as the command takes it."""
        return self.pattern


@dataclass(frozen=True)
class PerView(Pattern):
    """A share of the samples, rounded down, misses from every view.

    Parameters
    ----------
    rate : float or sequence of float
        The share, or one for each view, in [0, 1).
    """

    rate: float | Sequence[float]

    @property
    def text(self) -> str:
        """The pattern as the command takes it."""
        rates = np.asarray(self.rate, dtype=np.float64)
        if rates.ndim == 0:
            return f"per-view:{float(rates)!r}"
        return "per-view:" + "".join(f"{float(rate)!r}," for rate in rates)


@dataclass(frozen=True)
class Paired(Pattern):
    """A share of the samples keeps every view, the others one, split evenly over the views.

    Parameters
    ----------
    ratio : float
        The share of complete samples, in [0, 1].
    """

    ratio: float

    @property
    def text(self) -> str:
        """The pattern as the command takes it."""
        return f"paired:{float(self.ratio)!r}"


@dataclass(frozen=True)
class IncompleteSamples(Pattern):
    """A share of the samples misses something.

    Parameters
    ----------
    rate : float
        The share, in [0, 1].
    mechanism : {"mem", "mcar", "mnar", "pm"}
        What an incomplete sample misses: all views but one, random ones, the same as others, some of a few.
    """

    rate: float
    mechanism: Literal["mem", "mcar", "mnar", "pm"] = "mem"

    @property
    def text(self) -> str:
        """The pattern as the command takes it."""
        return f"incomplete:{float(self.rate)!r}:{self.mechanism}"


@dataclass(frozen=True)
class Cells(Pattern):
    """A share of all (sample, view) cells is missing.

    Parameters
    ----------
    rate : float
        The share, in [0, 1).
    """

    rate: float

    @property
    def text(self) -> str:
        """The pattern as the command takes it."""
        return f"cells:{float(self.rate)!r}"


@dataclass(frozen=True)
class Blocks(Pattern):
    """A share of consecutive samples misses from every view, the views' blocks laid end to end.

    Parameters
    ----------
    rate : float
        The share, in [0, 1).
    """

    rate: float

    @property
    def text(self) -> str:
        """The pattern as the command takes it."""
        return f"blocks:{float(self.rate)!r}"


def hide(views: Sequence[ArrayLike], mask: ArrayLike) -> list[NDArray[np.floating[Any]]]:
    """Copies of the views whose rows are NaN where the mask is False.

    Parameters
    ----------
    views : sequence of array-like of shape (n_samples, n_features)
        One array a view.
    mask : array-like of bool of shape (n_samples, n_views)
        True where observed.

    Returns
    -------
    list of ndarray
        One array a view.
    """
    observed = np.asarray(mask, dtype=bool)
    hidden = []
    for v, view in enumerate(views):
        # An array keeps what a mask hides.
        dtype = np.result_type(np.asarray(view), np.float32)
        values = np.ma.array(view, dtype=dtype, copy=True).filled(np.nan)
        if observed.shape != (len(values), len(views)):
            raise ValueError(
                f"the mask has shape {observed.shape}: must be ({len(values)}, {len(views)}), samples by views"
            )
        values[~observed[:, v]] = np.nan
        hidden.append(values)
    return hidden
