"""What may trouble a user and keeps no fit from its result."""


class CdimcWarning(UserWarning):
    """Any warning of this package."""


class FilledCellsWarning(CdimcWarning):
    """Single missing cells hold their column's mean now."""


class UnobservedSamplesWarning(CdimcWarning):
    """Samples without a value in any view have no cluster: their label is -1."""


class OddDataWarning(CdimcWarning):
    """Names that hardly match, columns that a model does not know, values in other units than its own."""


class DoubtfulClustersWarning(CdimcWarning):
    """The clusters may say nothing about the data."""
