"""Writes the tables of this folder: `python3 examples/make.py`. The patients are simulated; every run writes the same files.

240 patients in four subtypes, drawn with probabilities of 40, 30, 20 and 10 %. Each assay lacks 30 % of the patients, and
every patient has at least one assay. Expression is skewed like intensities; methylation is between 0 and 1. Each assay
cannot distinguish two subtypes, so no table alone separates all four. `new_rna.csv` has twelve further patients with RNA
only.
"""

import csv
import math
import pathlib
import random

N_PATIENTS, N_NEW, SHARE_ABSENT = 240, 12, 0.3
SUBTYPES = ["A", "B", "C", "D"]
SHARES = [0.4, 0.3, 0.2, 0.1]
# Prefix and number of columns of each assay, and the two subtypes that it cannot distinguish.
ASSAYS = {"rna": ("gene", 20, ("C", "D")), "methylation": ("site", 15, ("A", "B")), "protein": ("protein", 12, ("B", "C"))}

random.seed(28)
here = pathlib.Path(__file__).parent


def rounded(value):
    return f"{value:.4g}"


def assay(name):
    """Returns a function that draws a patient's row, and the column names."""
    prefix, n_columns, (one, other) = ASSAYS[name]
    means = {subtype: [random.gauss(0, 1) for _ in range(n_columns)] for subtype in SUBTYPES}
    means[other] = means[one]
    loadings = [random.gauss(0, 0.5) for _ in range(n_columns)]

    def row(subtype):
        shared = random.gauss(0, 1)
        values = [mean + shared * loading + random.gauss(0, 0.8) for mean, loading in zip(means[subtype], loadings)]
        if name == "rna":
            return [rounded(math.exp(5 + value)) for value in values]
        if name == "methylation":
            return [rounded(1 / (1 + math.exp(-value))) for value in values]
        return [rounded(value) for value in values]

    return row, [f"{prefix}_{i + 1}" for i in range(n_columns)]


def write(name, header, rows):
    with open(here / name, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


patients = [f"P{i + 1:03}" for i in range(N_PATIENTS)]
subtypes = random.choices(SUBTYPES, SHARES, k=N_PATIENTS)
absent = {name: set() for name in ASSAYS}
for name in ASSAYS:
    while len(absent[name]) < SHARE_ABSENT * N_PATIENTS:
        patient = random.choice(patients)
        if sum(patient in others for others in absent.values()) < len(ASSAYS) - 1:
            absent[name].add(patient)

for name in ASSAYS:
    row, columns = assay(name)
    rows = [[p, *row(s)] for p, s in zip(patients, subtypes) if p not in absent[name]]
    write(f"{name}.csv", ["patient", *columns], rows)
    if name == "rna":
        new = [[f"N{i + 1:02}", *row(random.choices(SUBTYPES, SHARES)[0])] for i in range(N_NEW)]
        write("new_rna.csv", ["patient", *columns], new)
write("subtypes.csv", ["patient", "subtype"], zip(patients, subtypes))
