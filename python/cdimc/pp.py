"""Summaries of the data before clustering."""

from __future__ import annotations

from typing import Any

from ._views import Views, as_views, check_unique, missing_rows, sample_names

__all__ = ["missing", "observed"]


def observed(Xs: Views) -> Any:
    """Returns which samples are observed in which views.

    Parameters
    ----------
    Xs : list or dict of views, or MuData
        Same as for ``fit``.

    Returns
    -------
    DataFrame of bool
        One row per sample, one column per view; True if the sample has a value in the view.
    """
    import pandas as pd

    views = as_views(Xs)
    samples = sample_names(Xs)
    table = pd.DataFrame(False, index=pd.Index(samples, name="sample"), columns=[view.name for view in views])
    for view in views:
        check_unique(view)
        there = ~missing_rows(view.values)
        table[view.name] = pd.Series(there, index=samples if view.ids is None else view.ids).reindex(samples, fill_value=False)
    return table


def missing(Xs: Views) -> Any:
    """Returns the sets of views that samples have, the most common first.

    Parameters
    ----------
    Xs : list or dict of views, or MuData
        Same as for ``fit``.

    Returns
    -------
    DataFrame
        One row per set: a column of bool per view, and the number of samples with exactly this set.

    Examples
    --------
    >>> import pandas as pd
    >>> rna = pd.DataFrame({"a": [1.0, 2.0, 0.5]}, index=["p1", "p2", "p4"])
    >>> protein = pd.DataFrame({"b": [3.0, 4.0, 5.0]}, index=["p3", "p1", "p2"])
    >>> print(missing({"rna": rna, "protein": protein}).to_string(index=False))
      rna  protein  samples
     True     True        2
     True    False        1
    False     True        1
    """
    table = observed(Xs)
    columns = list(table.columns)
    if "samples" in columns:
        raise ValueError("view `samples`: must have another name, because the column of counts has this one")
    counts = table.groupby(columns, sort=False).size().rename("samples").reset_index()
    # Ties are sorted by the view columns, so that the result is reproducible.
    order = counts.sort_values(["samples", *columns], ascending=False, kind="stable")
    return order.reset_index(drop=True)
