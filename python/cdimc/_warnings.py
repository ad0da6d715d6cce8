"""Warnings of this package."""


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
