"""Compares ``cdimc cluster`` with default settings with k-means, a Gaussian mixture and four other programs, on the data sets of ``unseen.toml``.

    pip install cdimc scikit-learn imml mofapy2 snfpy
    python unseen.py get FOLDER [--repositories DIR]
    python unseen.py run FOLDER [--half kept] [--methods NAME...] [--seeds N] [--command PATH] [--records FILE]
    python unseen.py table FOLDER [--half kept] [--records FILE]
    python unseen.py numbers FOLDER [--half kept] [--records FILE]
    python unseen.py compare BEFORE AFTER

``get`` needs R, git, and on Debian apt. It writes one CSV per view and ``truth.csv`` of every set into ``FOLDER/sets``.

``run`` adds a line to the records for every missing cell, so an interrupted run can continue. A cell is a set, complete or with 30 % of each
view absent, a seed and a method. The seed draws the order of the samples, at most 1500 of them, the mask, and the method's own randomness. Every
program has one thread and a limit of CPU seconds per cell. The other programs run through the peers' runner, ``peers/methods.py``. ``numbers``
compares the numbers that ``cdimc-range`` and the rules ``silhouette``, ``calinski-harabasz`` and ``bic`` propose; name them in ``--methods``.

``--half ours`` takes the sets of this repository in place of the unseen ones: the public ones, and draws of ``simulated.py``. For an accuracy
table before and after a change, run ``--methods cdimc`` twice with another ``--command`` and ``--records``, then ``compare``.
"""

import argparse
import csv
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import cdimc
import numpy as np
from cdimc.metrics import accuracy, ari, nmi

HERE = Path(__file__).parent
RUNNER = HERE.parents[1] / "crates/cdimc-experiments/peers/methods.py"
MOST_SAMPLES = 1500
RATES = (0.0, 0.3)
FIELDS = ["set", "rate", "seed", "method", "k", "proposed", "accuracy", "nmi", "ari", "seconds", "status", "note"]
#: Methods of the peers' runner, by the package that they come from.
PEERS = {"nemo": "imml", "pimvc": "imml", "snf": "snfpy", "mofa": "mofapy2"}
PLAIN = ("k-means", "k-means-standardized", "mixture", "mixture-of-components")
#: Rules for the number of clusters: two scores of k-means, and the criterion of a Gaussian mixture.
RULES = ("silhouette", "calinski-harabasz", "bic")
METHODS = (*PLAIN, "cdimc", *PEERS, *RULES, "cdimc-range")
NUMBERS = range(2, 13)
OURS = ("handwritten", "bdgp", "digits", "mnist4000")


def listed(half):
    """Returns the entries of the list in one half: ``kept`` if the SHA-256 of the name is even, else ``development``."""
    entries = tomllib.loads((HERE / "unseen.toml").read_text())
    halves = {name: ("kept", "development")[int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2] for name in entries}
    return {name: entry for name, entry in entries.items() if half in ("all", halves[name])}


# Getting


def repository(name, folder):
    """Returns the git directory of a public repository, cloned if needed."""
    path = folder / name.replace("/", "+") / "repo"
    if not path.exists():
        subprocess.run(["git", "clone", "--quiet", "--bare", f"https://github.com/{name}", path], check=True)
    return path


def sources(entry, folder, repositories):
    """Returns the local files of an entry, after a test of their checksums, and the R expression that reads them."""
    if "package" in entry:
        name = f"{entry['package']}={entry['version']}"
        packages = folder / "packages"
        packages.mkdir(exist_ok=True)
        pattern = f"{entry['package']}_{entry['version'].replace(':', '%3a')}_*.deb"
        if not list(packages.glob(pattern)):
            subprocess.run(["apt-get", "download", "-qq", name], cwd=packages, check=True)
        (path,) = packages.glob(pattern)
        subprocess.run(["dpkg-deb", "-x", path, folder / "library"], check=True)
        library = folder / "library/usr/lib/R/site-library"
        (installed,) = (p.name for p in library.iterdir() if p.name.lower() == entry["package"].split("-", 2)[2])
        return [path], f'data({entry["object"]}, package = "{installed}", lib.loc = "{library}"); d <- {entry["object"]}'
    paths = []
    for file in entry["files"]:
        path = folder / "files" / entry["repository"].replace("/", "+") / file
        path.parent.mkdir(parents=True, exist_ok=True)
        show = ["git", "--git-dir", repository(entry["repository"], repositories), "show", f"{entry['commit']}:{file}"]
        path.write_bytes(subprocess.run(show, check=True, capture_output=True).stdout)
        paths.append(path)
    reader = "read_object" if paths[0].suffix == ".rda" else "read_member"
    read = [f'{reader}("{path}")' for path in paths]
    return paths, "d <- " + (read[0] if len(read) == 1 else f"list({', '.join(read)})")


def get(folder, repositories):
    for name, entry in listed("all").items():
        target = folder / "sets" / name
        if (target / "truth.csv").exists():
            continue
        paths, read = sources(entry, folder, repositories)
        found = [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]
        if found != entry["sha256"]:
            sys.exit(f"{name}: sha256 = {found}: must be {entry['sha256']}")
        views = ", ".join(f"{view} = {expression}" for view, expression in entry["views"].items())
        code = f'source("{HERE / "unseen.R"}"); {read}; write_set("{target}", list({views}), {entry["truth"]})'
        subprocess.run(["Rscript", "-e", code], check=True)
        views, y = read_set(target, entry)
        shape = (len(y), len(set(y)))
        if shape != (entry["samples"], entry["classes"]):
            sys.exit(f"{name}: samples, classes = {shape}: must be {entry['samples'], entry['classes']}")
        print(f"{name}: {shape[0]} samples, {shape[1]} classes, {', '.join(str(x.shape[1]) for x in views.values())} columns")


def read_set(folder, entry):
    """Returns the views and the classes."""
    y = [row["class"] for row in csv.DictReader((folder / "truth.csv").open())]
    tables = {name: np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1, dtype=str, ndmin=2) for name in entry["views"]}
    return {name: table[:, 1:].astype(float) for name, table in tables.items()}, np.array(y)


# Running


def data_sets(half, folder):
    """Yields names, and functions of a seed that return views and classes."""
    if half == "ours":
        from simulated import situations

        for name in OURS:
            dataset = cdimc.datasets.load(name)
            yield name, lambda seed, dataset=dataset: (dataset.views, np.asarray(dataset.target))
        for i, (name, _, _) in enumerate(situations(np.random.default_rng(0))):
            draw = lambda seed, i=i: list(situations(np.random.default_rng(seed)))[i][:0:-1]  # noqa: E731
            yield name, lambda seed, draw=draw: ({f"view{v}": x for v, x in enumerate(draw(seed)[0])}, draw(seed)[1])
        return
    # Small sets first.
    for name, entry in sorted(listed(half).items(), key=lambda one: one[1]["samples"]):
        yield name, lambda seed, name=name, entry=entry: read_set(folder / "sets" / name, entry)


def cell(views, y, rate, seed):
    """Returns the views of a limited number of samples in the seed's order, with NaN for missing rows, and the classes."""
    order = np.random.default_rng(seed).permutation(len(y))[:MOST_SAMPLES]
    views = {name: np.asarray(x, float)[order] for name, x in views.items()}
    if rate:
        mask = cdimc.missing.PerView(rate).mask(len(order), len(views), seed=seed)
        views = dict(zip(views, cdimc.missing.hide(list(views.values()), mask)))
    return views, y[order]


def limited(command, limit, **options):
    """Runs a process with a limit on CPU seconds; the machine may be too busy for a limit on elapsed time."""
    cap = lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))  # noqa: E731
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, preexec_fn=cap, env=environment, capture_output=True, text=True, **options)


def run_cdimc(views, k, seed, numbers, arguments):
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.command, "--quiet", "cluster", "--id", "id", "--seed", str(seed), "--threads", "1", "-o", f"{folder}/out"]
        for name, x in views.items():
            seen = ~np.isnan(x).all(axis=1)
            rows = zip(np.flatnonzero(seen), x[seen])
            lines = [",".join(["id", *(f"c{i}" for i in range(x.shape[1]))]), *(",".join([f"s{i}", *map(repr, map(float, row))]) for i, row in rows)]
            Path(folder, f"{name}.csv").write_text("\n".join(lines) + "\n")
            command += ["--view", f"{folder}/{name}.csv"]
        done = limited([*command, *numbers], arguments.limit)
        if done.returncode:
            return None, None, "limit" if done.returncode < 0 else done.stderr.strip().splitlines()[-1]
        labels = {int(row["id"][1:]): row["cluster"] for row in csv.DictReader(Path(folder, "out/labels.csv").open())}
        result = json.loads(Path(folder, "out/run.json").read_text())
    findings = result["facts"]["findings"]
    note = {"coordinates": findings.get("coordinates"), "warnings": [warning["sign"] for warning in result["warnings"]]}
    n_samples = len(next(iter(views.values())))
    return [labels.get(i, "none") for i in range(n_samples)], result["n-clusters"], json.dumps(note)


def run_peer(method, views, k, seed, arguments):
    with tempfile.TemporaryDirectory() as folder:
        for v, x in enumerate(views.values()):
            Path(folder, f"view{v}.f64").write_bytes(np.ascontiguousarray(x).tobytes())
        case = {"method": method, "peer": PEERS[method], "settings": {"seed": seed}, "folder": folder, "n_clusters": k, "times": 1}
        case |= {"widths": [x.shape[1] for x in views.values()], "n_samples": len(next(iter(views.values())))}
        done = limited([sys.executable, RUNNER], arguments.limit, input=json.dumps(case) + "\n")
    if done.returncode:
        return None, None, "limit" if done.returncode < 0 else (done.stderr.strip().splitlines() or ["no message"])[-1][:200]
    return json.loads(done.stdout.splitlines()[-1])["labels"], k, ""


def filled(views, standardized):
    """Returns the views side by side; means fill missing rows."""
    x = np.hstack([np.where(np.isnan(view), np.nanmean(view, axis=0), view) for view in views.values()])
    if not standardized:
        return x
    scale = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(scale > 0, scale, 1)


def mixture_of_components(x, k, seed):
    """Returns BIC, high if good, and the clusters of a Gaussian mixture of the first ten principal components."""
    from sklearn.decomposition import PCA
    from sklearn.mixture import GaussianMixture

    z = PCA(min(10, *x.shape), random_state=seed).fit_transform(x)
    model = GaussianMixture(k, reg_covar=1e-2, n_init=10, random_state=seed)
    labels = model.fit_predict(z)
    return -model.bic(z), labels


def run_rule(rule, views, seed):
    """Returns the clusters of the number that scores highest on standardized columns."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import calinski_harabasz_score, silhouette_score

    x = filled(views, True)

    def scored(number):
        if rule == "bic":
            return mixture_of_components(x, number, seed)
        labels = KMeans(number, n_init=20, random_state=seed).fit_predict(x)
        return {"silhouette": silhouette_score, "calinski-harabasz": calinski_harabasz_score}[rule](x, labels), labels

    (_, labels), best = max(((scored(number), number) for number in NUMBERS), key=lambda one: one[0][0])
    return labels, best, ""


def run_plain(method, views, k, seed):
    from sklearn.cluster import KMeans
    from sklearn.mixture import GaussianMixture

    x = filled(views, method != "k-means")
    if method == "mixture-of-components":
        return mixture_of_components(x, k, seed)[1], k, ""
    if method != "mixture":
        return KMeans(k, n_init=20, random_state=seed).fit_predict(x), k, ""
    # A full covariance matrix needs more samples per cluster than columns.
    shape = "full" if len(x) > 2 * k * x.shape[1] else "diag"
    model = GaussianMixture(k, covariance_type=shape, reg_covar=1e-3, n_init=5, random_state=seed)
    return model.fit_predict(x), k, shape


def run_cell(method, views, y, seed, arguments):
    k = len(set(y))
    used = lambda: sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))  # noqa: E731
    begun = used()
    if method in PLAIN:
        labels, proposed, note = run_plain(method, views, k, seed)
    elif method in RULES:
        labels, proposed, note = run_rule(method, views, seed)
    elif method in PEERS:
        labels, proposed, note = run_peer(method, views, k, seed, arguments)
    else:
        numbers = ["-k", str(k)] if method == "cdimc" else ["--k-range", f"{NUMBERS[0]}..{NUMBERS[-1]}"]
        labels, proposed, note = run_cdimc(views, k, seed, numbers, arguments)
    record = {"method": method, "k": k, "seconds": f"{used() - begun:.2f}", "note": note}
    if labels is None:
        return record | {"status": "failed"}
    scores = {score.__name__: f"{100 * score(y, np.asarray(labels)):.3f}" for score in (accuracy, nmi, ari)}
    return record | {"status": "ok", "proposed": proposed} | scores


def read_records(path):
    return list(csv.DictReader(path.open())) if path.exists() else []


def run(arguments):
    path = arguments.records
    done = {(r["set"], r["rate"], r["seed"], r["method"]) for r in read_records(path)}
    if not path.exists():
        path.write_text(",".join(FIELDS) + "\n")
    sets = [one for one in data_sets(arguments.half, arguments.folder) if not arguments.sets or one[0] in arguments.sets]
    cells = [(seed, method, rate, one) for seed in range(arguments.seeds) for method in arguments.methods for rate in arguments.rates for one in sets]
    # The quick methods first, then one seed of all sets and methods before the next.
    for seed, method, rate, (name, read) in sorted(cells, key=lambda cell: cell[1] not in PLAIN):
        key = {"set": name, "rate": str(rate), "seed": str(seed)}
        if (*key.values(), method) in done:
            continue
        views, y = cell(*read(seed), rate, seed)
        record = key | run_cell(method, views, y, seed, arguments)
        with path.open("a", newline="") as file:
            csv.DictWriter(file, FIELDS).writerow(record)
        print(*(record.get(field, "") for field in ("set", "rate", "seed", "method", "status", "accuracy", "seconds")), flush=True)


# Tables


def scored(records):
    """Returns the accuracies by seed of every set, rate and method; failed cells are left out."""
    found = {}
    for r in records:
        if r["status"] == "ok":
            found.setdefault((r["set"], float(r["rate"]), r["method"]), {})[r["seed"]] = float(r["accuracy"])
    return found


def table(arguments):
    """Returns one row per set, complete and absent side by side, the largest loss first; then the counts."""
    found = scored(read_records(arguments.records))
    names = [name for name, _ in data_sets(arguments.half, arguments.folder)]
    methods = [m for m in (*PLAIN, *PEERS) if any(key[2] == m for key in found)]

    def lead(name, rate, others=PLAIN[:2]):
        """Returns the lead of cdimc over the best of these methods, each over the seeds that both have."""
        ours, leads = found.get((name, rate, "cdimc"), {}), []
        for other in others:
            theirs = found.get((name, rate, other), {})
            if shared := ours.keys() & theirs.keys():
                leads.append(np.mean([ours[seed] - theirs[seed] for seed in shared]))
        return min(leads, default=None)

    rows = sorted(names, key=lambda name: min([lead(name, rate) for rate in RATES if lead(name, rate) is not None], default=np.inf))
    columns = ["cdimc", *methods]
    print("Accuracy in percent, complete / 30 % absent. Lead: over the better of both k-means.\n")
    print("| set | lead | " + " | ".join(columns) + " |\n| :-- | --: |" + " --: |" * len(columns))
    for name in rows:
        leads = " / ".join("–" if (value := lead(name, rate)) is None else f"{value:+.1f}" for rate in RATES)
        mean = lambda key: f"{np.mean(list(found[key].values())):.1f}" if key in found else "–"  # noqa: E731
        cells = [" / ".join(mean((name, rate, m)) for rate in RATES) for m in columns]
        print(f"| {name} | {leads} | " + " | ".join(cells) + " |")
    print("\n| against | complete: ahead, behind, tie | worst | 30 % absent: ahead, behind, tie | worst |\n| :-- | --: | --: | --: | --: |")
    for title, others in (("best k-means", PLAIN[:2]), *((m, [m]) for m in methods)):
        cells = []
        for rate in RATES:
            leads = np.array([value for name in names if (value := lead(name, rate, others)) is not None])
            # Less than half a point is a tie.
            cells += [f"{(leads >= 0.5).sum()}, {(leads <= -0.5).sum()}, {(abs(leads) < 0.5).sum()}", f"{leads.min():+.1f}" if len(leads) else "–"]
        print(f"| {title} | " + " | ".join(cells) + " |")


def numbers(arguments):
    """Prints how the proposed numbers of clusters compare with the numbers of classes, and the rule "always 2"."""
    records = [r for r in read_records(arguments.records) if r["status"] == "ok" and r["set"] in dict(data_sets(arguments.half, arguments.folder))]
    found = {m: [(int(r["proposed"]), int(r["k"])) for r in records if r["method"] == m] for m in ("cdimc-range", *RULES)}
    found["always 2"] = [(2, k) for _, k in found["cdimc-range"]]
    print("| rule | proposals | right | within one | too few | too many | right of those with over two classes |")
    print("| :-- |" + " --: |" * 6)
    for rule, pairs in found.items():
        off = np.array([proposed - k for proposed, k in pairs])
        many = np.array([k > 2 for _, k in pairs])
        counts = (len(off), (off == 0).sum(), (abs(off) <= 1).sum(), (off < 0).sum(), (off > 0).sum(), f"{(off[many] == 0).sum()} of {many.sum()}")
        print(f"| {rule} | " + " | ".join(map(str, counts)) + " |")


def compare(before, after):
    """Prints the mean difference per set, ± standard deviation over its cells, and over all cells, ± its standard error."""
    cells = [{tuple(r[f] for f in FIELDS[:4]): float(r["accuracy"]) for r in read_records(path) if r["status"] == "ok"} for path in (before, after)]
    differences = {}
    for key in cells[0].keys() & cells[1].keys():
        differences.setdefault((key[0], key[1], key[3]), []).append((cells[0][key], cells[1][key]))
    print("| set | absent | method | before | after | difference | cells |\n| :-- | --: | :-- | --: | --: | --: | --: |")
    for key, pairs in sorted(differences.items(), key=lambda item: np.mean(np.diff(item[1]))):
        pairs = np.array(pairs)
        change = pairs[:, 1] - pairs[:, 0]
        print(f"| {' | '.join(key)} | {pairs[:, 0].mean():.1f} | {pairs[:, 1].mean():.1f} | {change.mean():+.1f} ± {change.std():.1f} | {len(pairs)} |")
    every = np.concatenate([np.diff(pairs).ravel() for pairs in differences.values()])
    print(f"\nAll {len(every)} cells: {every.mean():+.2f} ± {every.std() / np.sqrt(len(every)):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["get", "run", "table", "numbers", "compare"])
    parser.add_argument("folder", type=Path, help="where the sets lie; the records before, for compare")
    parser.add_argument("after", type=Path, nargs="?", help="the records after, for compare")
    parser.add_argument("--repositories", type=Path, help="git directories DIR/OWNER+NAME/repo [default: FOLDER/repositories]")
    parser.add_argument("--half", choices=["development", "kept", "all", "ours"], default="development")
    parser.add_argument("--sets", nargs="+", default=[], help="only these")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=(*PLAIN, "cdimc", *PEERS))
    parser.add_argument("--rates", nargs="+", type=float, choices=RATES, default=RATES)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--command", default="cdimc", help="the program to run")
    parser.add_argument("--limit", type=int, default=600, help="CPU seconds per cell")
    parser.add_argument("--records", type=Path, help="[default: FOLDER/records.csv]")
    arguments = parser.parse_args()
    arguments.records = arguments.records or arguments.folder / "records.csv"
    if arguments.action == "get":
        get(arguments.folder, arguments.repositories or arguments.folder / "repositories")
    elif arguments.action == "compare":
        compare(arguments.folder, arguments.after)
    else:
        {"run": run, "table": table, "numbers": numbers}[arguments.action](arguments)


if __name__ == "__main__":
    main()
