"""Makes the pictures of this folder: `python3 docs/pictures/make.py TABLES`, with TABLES from examples/miniacc.R.

It runs the command `cdimc`, and Chromium for the screenshot of a report. The same version gives the same pictures.
"""

import csv
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "examples"
VIEWS = ["rna", "methylation", "protein"]
COLORS = ["#0072b2", "#e69f00", "#009e73", "#d55e00"]
BLUE, PALE, INK, SOFT = "#4e79a7", "#e6eaee", "#222222", "#555555"


class Picture:
    """An SVG under construction."""

    def __init__(self, width, height, title):
        self.head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="Helvetica, Arial, sans-serif" role="img">\n<title>{title}</title>\n'
            f'<rect width="{width}" height="{height}" fill="#fff"/>\n'
        )
        self.parts = []

    def text(self, x, y, text, size=14, color=INK, anchor="start", weight="normal"):
        self.parts.append(
            f'<text x="{x:.4g}" y="{y:.4g}" font-size="{size}" fill="{color}" text-anchor="{anchor}" font-weight="{weight}">{text}</text>'
        )

    def boxes(self, boxes, color):
        path = "".join(f"M{x:.4g} {y:.4g}h{w:.4g}v{h:.4g}h{-w:.4g}z" for x, y, w, h in boxes)
        self.parts.append(f'<path d="{path}" fill="{color}"/>')

    def line(self, points, color=SOFT, width=1):
        path = " ".join(f"{x:.4g},{y:.4g}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"/>')

    def dots(self, points, color, radius=3.2):
        self.parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}" fill-opacity="0.8"/>' for x, y in points]

    def save(self, name):
        (HERE / name).write_text(self.head + "\n".join(self.parts) + "\n</svg>\n")


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def cluster(tables, folder, *options):
    """Returns the result folder of `cdimc cluster` on these tables."""
    views = [word for path in tables for word in ("--view", str(path))]
    subprocess.run(["cdimc", "cluster", *views, *options, "-q", "-o", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return folder


def logarithms():
    """Draws a gene before and after the logarithm."""
    values = [float(row["gene_3"]) for row in table(EXAMPLES / "rna.csv")]
    picture = Picture(720, 200, "Histogram of one gene before and after the logarithm")
    logs = [math.log2(value + 1) for value in values]
    for x0, shown, low, label, color in [(30, values, 0, "gene_3, as measured", "#9aa7b5"), (390, logs, min(logs), "log2(gene_3 + 1)", BLUE)]:
        high, counts = max(shown), [0] * 24
        for value in shown:
            counts[min(23, int(24 * (value - low) / (high - low)))] += 1
        bars = [(x0 + 12.5 * i, 155 - 140 * n / max(counts), 11.5, 140 * n / max(counts)) for i, n in enumerate(counts) if n]
        picture.boxes(bars, color)
        picture.line([(x0, 155), (x0 + 300, 155)])
        picture.text(x0, 173, f"{low:.3g}", 12, SOFT)
        picture.text(x0 + 300, 173, f"{high:.4g}", 12, SOFT, "end")
        picture.text(x0 + 150, 191, label, 14, INK, "middle")
    picture.save("logarithms.svg")


def missing_patterns(n=30, v=6):
    """Draws the missing patterns of `cdimc mask`, six views of thirty samples each."""
    random.seed(4)
    samples = range(n)

    def per_view():
        while True:
            absent = [set(random.sample(samples, 9)) for _ in range(v)]
            mask = [[i not in absent[u] for u in range(v)] for i in samples]
            if all(map(any, mask)):
                return mask

    def keeping(few, some):
        chosen = random.sample(samples, 9)
        return [set(random.sample(range(v), some())) if (i in chosen) == few else set(range(v)) for i in samples]

    def rows(kept):
        return [[u in views for u in range(v)] for views in kept]

    turn = iter(range(n))
    panels = [
        ("per-view:0.3", "each view misses 30 % of the samples", per_view()),
        ("paired:0.3", "30 % have all views, the others one", rows([{next(turn) % v} if len(k) == 1 else k for k in keeping(False, lambda: 1)])),
        ("cells:0.3", "30 % of all cells, on average", [[random.random() > 0.3 for _ in range(v)] for _ in samples]),
        ("incomplete:0.3:mcar", "30 % lose one view or more", rows(keeping(True, lambda: random.randint(1, v - 1)))),
        ("incomplete:0.3:mem", "30 % keep one view only", rows(keeping(True, lambda: 1))),
        ("random-views:2", "every sample has two views", rows([set(random.sample(range(v), 2)) for _ in samples])),
        ("chain", "neighboring cohorts share a view", rows([{i * 5 // n, i * 5 // n + 1} for i in samples])),
        ("ring", "a chain that closes", rows([{i * v // n, (i * v // n + 1) % v} for i in samples])),
        ("blocks:0.3", "as per-view, in runs of samples", rows([{u for u in range(v) if (i - 9 * u) % n >= 9} for i in samples])),
    ]
    picture = Picture(870, 390, "Nine missing patterns")
    for place, (name, meaning, mask) in enumerate(panels):
        x0, y0 = 20 + place % 3 * 288, 44 + place // 3 * 128
        picture.text(x0, y0 - 24, name, 14, INK, weight="bold")
        picture.text(x0, y0 - 7, meaning, 12, SOFT)
        for state, color in [(True, BLUE), (False, PALE)]:
            picture.boxes([(x0 + 8.6 * i, y0 + 12 * u, 7.6, 11) for i in samples for u in range(v) if mask[i][u] == state], color)
    picture.save("missing-patterns.svg")


def parts():
    """Draws how samples in parts are read."""
    picture = Picture(720, 220, "Files of three views in four parts; one part at a time is in memory")
    for part in range(4):
        x = 110 + 120 * part
        picture.text(x + 48, 24, f"part {part}", 13, SOFT, "middle")
        for u, name in enumerate(["rna", "protein", "image"]):
            is_there = (part, u) != (3, 2)
            picture.boxes([(x, 36 + 44 * u, 96, 34)], (COLORS[0] if part == 1 else "#a9bfd6") if is_there else PALE)
            label = f"{name}/{part}.parquet" if is_there else "missing"
            picture.text(x + 48, 57 + 44 * u, label, 11, "#fff" if is_there and part == 1 else INK, "middle")
    for u, name in enumerate(["rna", "protein", "image"]):
        picture.text(95, 58 + 44 * u, name, 14, INK, "end", "bold")
    picture.line([(278, 176), (278, 192)], COLORS[0], 2)
    picture.text(278, 210, "in memory now: one part, and the samples of the search", 13, COLORS[0], "middle")
    picture.save("parts.svg")


def crates():
    """Draws the crates and their dependencies."""
    floors = [
        [("cdimc", "everything in one crate")],
        [("cdimc-cluster", "CDIMC-net"), ("cdimc-baselines", "the compared methods"), ("cdimc-nn", "networks")],
        [("cdimc-mixture", "t-mixture"), ("cdimc-graph", "neighbors")],
        [("cdimc-core", "the trait Clusterer, k-means"), ("cdimc-tables", "readers of files")],
        [("cdimc-data", "views and masks"), ("cdimc-metrics", "scores"), ("cdimc-statistics", "survival, tests")],
    ]
    picture = Picture(720, 340, "The crates; each uses only crates beside or below it")
    for floor, names in enumerate(floors):
        width = (680 - 12 * (len(names) - 1)) / len(names)
        for place, (name, content) in enumerate(names):
            x, y = 20 + place * (width + 12), 16 + 64 * floor
            picture.boxes([(x, y, width, 52)], "#dbe6f1")
            picture.text(x + width / 2, y + 23, name, 14, INK, "middle", "bold")
            picture.text(x + width / 2, y + 41, content, 12, SOFT, "middle")
    picture.save("crates.svg")


def idea(result):
    """Draws the views of samples, and their clusters."""
    tables = {name: {row["patient"] for row in table(EXAMPLES / f"{name}.csv")} for name in VIEWS}
    labels = table(result / "labels.csv")
    picture = Picture(900, 380, "Left: 240 patients, some missing from each of three tables. Right: the same patients in four clusters.")
    picture.text(20, 28, "Who has what", 17, weight="bold")
    groups = {}
    for row in labels:
        has = tuple(row["id"] in tables[name] for name in VIEWS)
        groups[has] = groups.get(has, 0) + 1
    y = 64
    for u, name in enumerate(VIEWS):
        picture.text(20 + 92 * u, 54, name, 14)
    for has, n in sorted(groups.items(), key=lambda item: -item[1]):
        height = 290 * n / len(labels)
        for state, color in [(True, BLUE), (False, PALE)]:
            picture.boxes([(20 + 92 * u, y, 86, height - 2) for u in range(3) if has[u] == state], color)
        picture.text(302, y + height / 2 + 3, f"{n} patients", 13, SOFT)
        y += height
    picture.text(20, 373, "gray: not measured", 12, SOFT)
    picture.text(405, 205, "→", 34, SOFT, "middle")
    picture.text(450, 28, "Who belongs together", 17, weight="bold")
    points = {row["id"]: [float(row[key]) for key in row if key != "id"] for row in table(result / "embedding.csv")}
    first, second = components(list(points.values()))
    sides = [(min(c), max(c)) for c in (first, second)]
    x = [455 + 260 * (value - sides[0][0]) / (sides[0][1] - sides[0][0]) for value in first]
    y = [350 - 290 * (value - sides[1][0]) / (sides[1][1] - sides[1][0]) for value in second]
    for c, color in enumerate(COLORS):
        members = [i for i, row in enumerate(labels) if row["cluster"] == str(c)]
        picture.dots([(x[i], y[i]) for i in members], color)
        sure = sum(float(labels[i]["confidence"]) >= 0.9 for i in members) / len(members)
        picture.dots([(745, 84 + 44 * c)], color, 7)
        picture.text(760, 82 + 44 * c, f"cluster {c}: {len(members)}", 14)
        picture.text(760, 99 + 44 * c, f"{100 * sure:.0f} % are sure", 12, SOFT)
    picture.text(740, 290, "sure: probability", 12, SOFT)
    picture.text(740, 306, "0.9 or more", 12, SOFT)
    picture.save("idea.svg")


def new_samples(result, scratch):
    """Draws the confidence by number of views, and of new patients with RNA only."""
    new = scratch / "new.csv"
    words = ["predict", "--model", str(result / "model.safetensors"), "--view", f"rna={EXAMPLES / 'new_rna.csv'}", "--id", "patient"]
    subprocess.run(["cdimc", *words, "-q", "-o", str(new)], check=True)
    known = table(result / "labels.csv")
    groups = [(f"{n} view" + "s" * (n > 1), [row for row in known if row["views"] == str(n)]) for n in (3, 2, 1)]
    groups.append(("new, RNA only", table(new)))
    picture = Picture(720, 270, "Confidence of patients with three, two and one view, and of twelve new patients with RNA only")
    random.seed(1)
    for tick in (0.4, 0.6, 0.8, 1.0):
        y = 30 + 300 * (1 - tick)
        picture.line([(70, y), (700, y)], PALE)
        picture.text(60, y + 4, tick, 12, SOFT, "end")
    picture.text(70, 16, "confidence", 13, SOFT)
    for place, (name, rows) in enumerate(groups):
        x = 150 + 155 * place
        for c, color in enumerate(COLORS):
            at = [(x + random.uniform(-38, 38), 30 + 300 * (1 - float(row["confidence"]))) for row in rows if row["cluster"] == str(c)]
            picture.dots(at, color)
        picture.text(x, 250, f"{name}: {len(rows)}", 13, INK, "middle")
    picture.save("new-samples.svg")


def filling_in(result, scratch):
    """Draws the errors of filled-in rows by view."""
    views = [word for name in VIEWS for word in ("--view", str(EXAMPLES / f"{name}.csv"))]
    command = ["cdimc", "impute", "--model", str(result / "model.safetensors"), *views, "--id", "patient", "-o", str(scratch / "filled")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    recovered = json.loads((scratch / "filled" / "run.json").read_text())["recovered"]
    picture = Picture(720, 190, "Error of filled-in rows in standard deviations, by view: t-mixture, nearest neighbors, column means")
    for place, name in enumerate(VIEWS):
        view = recovered[place]
        rows = [("t-mixture", "error", BLUE), ("nearest neighbors", "error-of-neighbors", "#a9bfd6"), ("column means", "error-of-means", "#c9ced4")]
        x = 30 + 235 * place
        picture.text(x, 24, name, 14, weight="bold")
        for row, (label, key, color) in enumerate(rows):
            value = view[key]
            picture.boxes([(x, 40 + 40 * row, 170 * value / 1.1, 18)], color)
            picture.text(x + 4, 72 + 40 * row, label, 12, SOFT)
            picture.text(x + 6 + 170 * value / 1.1, 54 + 40 * row, f"{value:.2f}", 12)
    picture.text(30, 182, "error in standard deviations of the columns; low is good", 12, SOFT)
    picture.save("filling-in.svg")


def components(points):
    """Returns the two leading principal components, by power iteration."""
    n, width = len(points), len(points[0])
    means = [sum(p[j] for p in points) / n for j in range(width)]
    points = [[p[j] - means[j] for j in range(width)] for p in points]
    found = []
    for _ in range(2):
        direction = [1.0 + j for j in range(width)]
        for _ in range(300):
            scores = [sum(a * b for a, b in zip(p, direction)) for p in points]
            direction = [sum(s * p[j] for s, p in zip(scores, points)) for j in range(width)]
            length = math.sqrt(sum(d * d for d in direction))
            direction = [d / length for d in direction]
        scores = [sum(a * b for a, b in zip(p, direction)) for p in points]
        points = [[p[j] - s * direction[j] for j in range(width)] for s, p in zip(scores, points)]
        found.append(scores)
    return found


def number_of_clusters(scratch):
    """Draws the curve for four clusters, a gradual change, and noise."""
    n, width = 300, 10
    panels = [("four clusters", "a clear bend"), ("a gradual change", "it goes on rising"), ("noise", "nothing is shared")]
    picture = Picture(870, 250, "Shared information by number of clusters: four clusters, a gradual change, noise")
    for place, (kind, reading) in enumerate(panels):
        random.seed(2)
        centers = [[[random.gauss(0, 1) for _ in range(width)] for _ in range(4)] for _ in VIEWS]
        change = [random.uniform(-1.7, 1.7) for _ in range(n)]
        files = []
        for u, name in enumerate(VIEWS):
            path = scratch / f"{kind} {name}.csv"
            lines = ["id," + ",".join(f"c{j}" for j in range(width))]
            for i in range(n):
                mean = {"noise": [0] * width, "four clusters": centers[u][i % 4]}.get(kind, [change[i] * c for c in centers[u][0]])
                if random.random() > 0.25:
                    lines.append(f"s{i}," + ",".join(f"{m + random.gauss(0, 0.6):.4g}" for m in mean))
            path.write_text("\n".join(lines) + "\n")
            files.append(path)
        folder = cluster(files, scratch / kind, "--id", "id", "--k-range", "1..8")
        number = json.loads((folder / "run.json").read_text())["cluster-number"]
        print(kind, number["reason"])
        x0, top = 40 + place * 288, 2.1
        at = [(x0 + 34 * (c["n-clusters"] - 2), 190 - 130 * max(c["held-out"]["shared-information"], 0) / top) for c in number["candidates"]]
        picture.text(x0, 22, kind, 15, weight="bold")
        picture.text(x0, 40, reading, 13, SOFT)
        picture.line([(x0, 60), (x0, 190), (x0 + 210, 190)])
        picture.line(at, BLUE, 2.5)
        picture.dots([p for p, c in zip(at, number["candidates"]) if c["n-clusters"] == number["chosen"]], COLORS[3], 6)
        for c in number["candidates"]:
            picture.text(x0 + 34 * (c["n-clusters"] - 2), 207, c["n-clusters"], 12, SOFT, "middle")
        picture.text(x0 + 105, 228, "number of clusters", 13, SOFT, "middle")
        picture.text(x0, 246, f"proposed: {number['chosen']}", 13, COLORS[3])
    picture.save("number-of-clusters.svg")


def patients(tables, scratch):
    """Writes the figures of the report on 92 patients, and its first screen."""
    names = ["rna", "mirna", "protein", "copies"]
    clinical = ["--clinical", str(tables / "clinical.csv"), "--survival", "days,dead"]
    folder = cluster([tables / f"{name}.csv" for name in names], scratch / "acc", "--id", "patient", "--k-range", "1..6", *clinical, "--figures")
    for name in ["number-of-clusters", "embedding", "markers", "contributions", "survival", "consensus"]:
        svg = (folder / f"figure-{name}.svg").read_text()
        end = svg.index(">") + 1
        # Pictures of a page have no background of their own, and would be black on black there.
        (HERE / f"patients-{name}.svg").write_text(svg[:end] + '<rect width="100%" height="100%" fill="#fff"/>' + svg[end:])
    options = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,700"]
    subprocess.run(["chromium", *options, f"--screenshot={HERE / 'patients-report.png'}", (folder / "report.html").as_uri()], check=True)


with tempfile.TemporaryDirectory() as scratch:
    scratch = Path(scratch)
    logarithms()
    missing_patterns()
    parts()
    crates()
    result = cluster([EXAMPLES / f"{name}.csv" for name in VIEWS], scratch / "result", "--id", "patient", "-k", "4")
    idea(result)
    new_samples(result, scratch)
    filling_in(result, scratch)
    number_of_clusters(scratch)
    patients(Path(sys.argv[1]), scratch)
