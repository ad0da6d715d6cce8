"""Warnings of this package."""

from __future__ import annotations

import sys
import warnings


class CdimcWarning(UserWarning):
    """Base class of all warnings of this package."""


class FilledCellsWarning(CdimcWarning):
    """Single missing cells were replaced by the mean of their column."""


class UnobservedSamplesWarning(CdimcWarning):
    """Samples without a value in any view have no cluster; their label is -1."""


class OddDataWarning(CdimcWarning):
    """The data may be other than meant: names that hardly match, codes for missing values, other units, and the like."""


class DoubtfulClustersWarning(CdimcWarning):
    """The clusters may be meaningless."""


def warn(text: str, category: type[CdimcWarning]) -> None:
    """Warns with the line outside this package that called it."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
