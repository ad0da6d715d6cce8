"""Clusters of incomplete multi-view data: several measurements of the same samples, some of which lack some.

Estimators follow scikit-learn's conventions with a list or dict of views in place of one table: ``TMixture``,
``CDIMCNet`` and the methods they are compared with. All is computed by the engine of the command ``cdimc``: the same
data and seed give the same bits, and model files go both ways.

Examples
--------
>>> import numpy as np, cdimc
>>> nan = np.nan  # Two views of four samples; rows of NaN were not measured.
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
