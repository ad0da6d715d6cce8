"""Clusters three tables, each without some of the patients, and prints a short report.

Run it as it is: ``python patients.py``. For tables of your own, read them with pandas, patients in the index.
"""

import numpy as np
import pandas as pd

import cdimc


def tables() -> dict[str, pd.DataFrame]:
    """Expression, methylation and protein of 300 patients in four groups, 30 % absent from each."""
    made = cdimc.datasets.make_views(300, 4, random_state=0)
    mask = cdimc.missing.PerView(0.3).mask(300, 3, seed=0)
    patients = [f"p{i}" for i in range(300)]
    names = ["rna", "methylation", "protein"]
    return {
        name: pd.DataFrame(view, index=patients)[observed]
        for name, view, observed in zip(names, made.views, mask.T)
    }


def main() -> None:
    """Clusters the tables and prints the findings."""
    assays = tables()
    print("Who has what:")
    print(cdimc.pp.missing(assays).to_string(index=False))

    model = cdimc.TMixture(n_clusters=4, random_state=0).fit(assays)
    patients = pd.DataFrame(
        {"cluster": model.labels_, "confidence": model.confidence_}, index=model.samples_
    )
    print("\nClusters:")
    print(patients.groupby("cluster")["confidence"].agg(["size", "mean"]).round(3))
    doubtful = patients.sort_values("confidence").head(5)
    print("\nLeast sure:")
    print(doubtful.round(3))
    means = {
        name: frame.groupby(patients["cluster"].reindex(frame.index)).mean() for name, frame in assays.items()
    }
    spread = {name: np.ptp(table.to_numpy(), axis=0) for name, table in means.items()}
    print("\nThe column of each table that differs most between clusters:")
    for name, differences in spread.items():
        print(f"  {name}: column {int(differences.argmax())}")


if __name__ == "__main__":
    main()
