"""Warnings of this package."""


class CdimcWarning(UserWarning):
    """Base class of all warnings of this package."""


class FilledCellsWarning(CdimcWarning):
    """Single missing cells were replaced by the mean of their column."""


class UnobservedSamplesWarning(CdimcWarning):
    """Samples without a value in any view have no cluster; their label is -1."""


class OddDataWarning(CdimcWarning):
    """Names hardly match, columns are unknown to the model, or values have other units than in the model."""


class DoubtfulClustersWarning(CdimcWarning):
    """The clusters may be meaningless."""
