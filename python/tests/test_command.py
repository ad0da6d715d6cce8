"""The command and the module give the same numbers, and read each other's models."""

import csv
import json
import subprocess

import numpy as np
import pytest

import cdimc

pd = pytest.importorskip("pandas")


@pytest.fixture
def files(frames, tmp_path):
    """The frames as CSV files that lose no digit."""
    for name, frame in frames.items():
        frame.to_csv(tmp_path / f"{name}.csv", float_format="%.17g")
    return [f"--view={tmp_path / name}.csv" for name in frames]


def run(command, *arguments):
    done = subprocess.run([command, "--quiet", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def shown(x):
    """The number that a table of the command shows for ``x``: six significant digits."""
    return float(f"{x:.5e}")


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def toml(value):
    """The value as TOML, tables in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(part)}" for key, part in value.items()) + "}"
    return json.dumps(value)


def settings_file(path, estimator):
    """The settings as TOML, one per line."""
    path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in estimator._settings().items()))
    return path


@pytest.mark.parametrize("method", [m for m in cdimc.method_names() if m not in ("pmvc", "img", "imc-grmf", "pmvc-cgan")])
def test_labels_and_models_equal_the_command(method, command, files, frames, tmp_path, quick):
    estimator = quick(method, random_state=5).fit(frames)
    out = tmp_path / "out"
    config = settings_file(tmp_path / "settings.toml", estimator)
    run(command, "cluster", *files, "--id=patient", "-k=3", "--seed=5", f"--method={method}", f"--config={config}", "-o", out)
    rows = table(out / "labels.csv")
    assert [row["id"] for row in rows] == estimator.samples_
    frame = estimator.to_frame()
    assert frame["cluster"].tolist() == estimator.labels_.tolist()
    for column in set(rows[0]) - {"id", "stability"}:
        if column in frame:
            # An empty cell means no cluster.
            written = [row[column] if column == "set" else float(row[column] or -1) for row in rows]
            values = frame[column].astype(str if column == "set" else float)
            assert written == [value if column == "set" else shown(value) for value in values], column
        else:
            assert all(row[column] == "" for row in rows)
    for name, values in (("embedding", estimator.embedding_), ("probabilities", estimator.probabilities_)):
        assert (out / f"{name}.csv").exists() == (values is not None), name
        if values is not None:
            found = [[float(x) for key, x in row.items() if key not in ("id", "cluster")] for row in table(out / f"{name}.csv")]
            assert np.array_equal(np.array(found), np.vectorize(shown)(values)), name
    assert (out / "model.safetensors").exists() == (estimator._model is not None)
    if estimator._model is not None:
        assert (out / "model.safetensors").read_bytes() == estimator._model.to_bytes()


def test_each_side_uses_the_model_of_the_other(command, files, frames, tmp_path, quick):
    run(command, "cluster", *files, "--id=patient", "-k=3", "--method=cdimc-net",
        f"--config={settings_file(tmp_path / 's.toml', quick('cdimc-net'))}", "-o", tmp_path / "out")
    theirs = cdimc.load(tmp_path / "out" / "model.safetensors")
    ours = quick("cdimc-net").fit(frames)
    ours.save(tmp_path / "ours.safetensors")
    new = {name: frames[name] for name in ("table2", "table0")}
    arguments = ["--model", tmp_path / "ours.safetensors", files[2], files[0], "--id=patient"]
    run(command, "predict", *arguments, "-o", tmp_path / "new.csv")
    rows = table(tmp_path / "new.csv")
    assert [row["id"] for row in rows] == cdimc.sample_names(new)
    for estimator in (theirs, ours):
        assert [int(row["cluster"]) for row in rows] == estimator.predict(new).tolist()
        assert [float(row["confidence"]) for row in rows] == [shown(p) for p in estimator.predict_confidence(new)]
    run(command, "impute", *arguments, "-o", tmp_path / "filled")
    for name, values in theirs.impute(new).items():
        rows = table(tmp_path / "filled" / f"{name}.csv")
        found = [[float(x) for key, x in row.items() if key not in ("id", "filled")] for row in rows]
        assert np.array_equal(np.array(found), values), name


def test_masks_equal_the_command(command, tmp_path):
    made = cdimc.datasets.make_views(40, 3, random_state=2)
    views = []
    for v, view in enumerate(made.views):
        pd.DataFrame(view).rename_axis("id").to_csv(tmp_path / f"t{v}.csv")
        views.append(f"--view={tmp_path}/t{v}.csv")
    for pattern in (
        cdimc.missing.PerView(0.3),
        cdimc.missing.PerView([0.1, 0.2, 0.5]),
        cdimc.missing.Cells(0.25),
        cdimc.missing.Text("random-views:2"),
        cdimc.missing.Text("ring"),
    ):
        out = tmp_path / pattern.text.replace(":", "-")
        run(command, "mask", *views, "--id=id", f"--pattern={pattern.text}", "--seed=9", "-o", out)
        mask = pattern.mask(40, 3, seed=9)
        for v in range(3):
            kept = [int(row["id"]) for row in table(out / f"t{v}.csv")]
            assert kept == np.flatnonzero(mask[:, v]).tolist()


def test_survival_and_associations_equal_the_command(command, files, frames, tmp_path):
    model = cdimc.TMixture(n_clusters=3, random_state=0).fit(frames)
    rng = np.random.default_rng(3)
    known = pd.DataFrame(
        {
            "days": rng.integers(1, 40, 60) + 20 * model.labels_,
            "dead": rng.integers(0, 2, 60),
            "age": rng.normal(60, 9, 60),
            "stage": rng.choice(["i", "ii", "iii"], 60),
        },
        index=pd.Index(model.samples_, name="patient"),
    )
    known.loc[known.index[:4], ["age", "stage"]] = np.nan
    known.to_csv(tmp_path / "clinic.csv")
    out = tmp_path / "out"
    clinic = [f"--clinical={tmp_path / 'clinic.csv'}", "--survival=days,dead"]
    run(command, "cluster", *files, "--id=patient", "-k=3", *clinic, "-o", out)
    known["cluster"] = model.labels_
    found = {row["column"]: row for row in cdimc.tl.associations(known, ["age", "stage"]).to_dict("records")}
    for row in table(out / "associations.csv"):
        for key in ("n", "statistic", "p", "size"):
            assert float(row[key]) == shown(found[row["column"]][key])
        assert row["test"] == found[row["column"]]["test"] and row["clusters"] == found[row["column"]]["clusters"]
    survival = cdimc.tl.survival(known, "days", "dead")
    record = json.loads((out / "run.json").read_text())
    assert survival["p"] == record["log-rank"]["p"]
    ratios = [c["hazard-ratio"] and c["hazard-ratio"]["ratio"] for c in record["survival"]["clusters"]]
    expected = pd.Series(ratios, dtype=float)
    assert survival["clusters"]["hazard-ratio-ratio"].astype(float).equals(expected)
    steps = table(out / "survival.csv")
    assert [float(row["survival"]) for row in steps] == [shown(p) for p in survival["curves"]["survival"]]
    with pytest.raises(ValueError, match="all 60 samples are censored"):
        cdimc.tl.survival(known.assign(dead=False), "days", "dead")
    with pytest.raises(ValueError, match="no column `died`"):
        cdimc.tl.survival(known, "days", "died")
