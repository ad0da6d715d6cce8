"""Clustering of samples that were measured in several views, even if many samples are missing from some views.

Estimators follow scikit-learn's conventions, with a list or dict of views instead of one table: ``TMixture``,
``CDIMCNet`` and the compared methods. They use the same engine as the command ``cdimc``: the same data and seed give
the same bits, and both read each other's model files.

Examples
--------
>>> import numpy as np, cdimc
>>> nan = np.nan  # Two views of four samples; a row of NaN is missing.
>>> rna = np.array([[0.1, 0.2], [0.2, 0.1], [nan, nan], [5.1, 4.9]])
>>> protein = np.array([[1.0], [nan], [9.0], [9.2]])
>>> labels = cdimc.Concat(n_clusters=2, random_state=0).fit_predict([rna, protein])
>>> bool(labels[0] != labels[2] == labels[3])
True
"""

from . import datasets, metrics, missing, pl, pp, tl
from ._cdimc import __version__, method_names
from ._estimator import MultiViewClusterer, load
from ._methods import *  # noqa: F403
from ._methods import __all__ as _methods
from ._single_table import AsSingleTable
from ._views import sample_names
from ._warnings import (
    CdimcWarning,
    DoubtfulClustersWarning,
    FilledCellsWarning,
    OddDataWarning,
    UnobservedSamplesWarning,
)

__all__ = [
    "AsSingleTable",
    "CdimcWarning",
    "DoubtfulClustersWarning",
    "FilledCellsWarning",
    "MultiViewClusterer",
    "OddDataWarning",
    "UnobservedSamplesWarning",
    "__version__",
    "datasets",
    "load",
    "method_names",
    "metrics",
    "missing",
    "pl",
    "pp",
    "sample_names",
    "tl",
]
__all__ += _methods
