"""The script that is installed with the package is the command."""

import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

BROKEN = Path(__file__).parents[2] / "crates" / "cdimc" / "tests" / "broken"
STARTS = {"script": [Path(sysconfig.get_path("scripts"), "cdimc")], "module": [sys.executable, "-m", "cdimc"]}


@pytest.fixture(params=STARTS)
def starts(request, command):
    """The command, and how the package starts it."""
    return [command], STARTS[request.param]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Where no folder is called as the package is, and names of files are short."""
    monkeypatch.chdir(tmp_path)


def end(start, *arguments):
    done = subprocess.run([*start, *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments", [["--version"], ["cluster", "--help"], ["cluster", "--nonsense"], ["inspect", "--view=no.csv"]])
def test_its_output_equals_the_command(starts, arguments):
    binary, script = (end(start, *arguments) for start in starts)
    assert binary == script
    assert binary[0] == (0 if arguments[-1] in ("--version", "--help") else 2)


@pytest.fixture
def views(frames):
    for name, frame in frames.items():
        frame.to_csv(f"{name}.csv")
    return [f"--view={name}.csv" for name in frames]


def test_it_writes_what_the_command_writes(starts, views):
    results = []
    for out, start in zip(("binary", "package"), starts, strict=True):
        assert end(start, "cluster", *views, "--id=patient", "-k=3", "-o", out)[0] == 0
        # The other files contain times.
        results.append({path.name: path.read_bytes() for path in Path(out).iterdir() if path.suffix in (".csv", ".safetensors")})
    assert results[0] == results[1] and {"labels.csv", "model.safetensors"} <= set(results[0])


@pytest.mark.parametrize(("name", "code"), [("dup.h5ad", 0), ("zeros.h5ad", 2), ("abort.feather", 2)])
def test_files_that_a_process_of_its_own_decodes_are_read_alike(starts, name, code):
    binary, script = (end(start, "inspect", "--view", BROKEN / name) for start in starts)
    assert binary == script and binary[0] == code


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_a_run_to_resume(starts, views, number):
    Path("long.toml").write_text("pretrain.epochs = 1000000\n")
    run = ["cluster", *views, "--id=patient", "-k=3", "--method=cdimc-net", "--config=long.toml"]
    for out, start in zip(("binary", "package"), starts, strict=True):
        process = subprocess.Popen([*start, *run, "-o", out], stderr=subprocess.PIPE, text=True)
        # It listens before its first step.
        process.stderr.readline()
        process.send_signal(number)
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 128 + number, said
        assert f"go on with `cdimc cluster --resume {out}`" in said
