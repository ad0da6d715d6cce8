"""How a call behaves: interrupts, progress, threads, forks, logging."""

import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import cdimc

#: Programs run here, where no folder `cdimc` hides the installed package.
HERE = os.path.dirname(os.path.abspath(__file__))

#: A fit that takes minutes.
LONG = textwrap.dedent(
    """
    import signal, sys, time, cdimc
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Started in the background it is ignored.
    made = cdimc.datasets.make_views(2000, 4, views=((60, "linear"), (50, "linear")))
    net = cdimc.CDIMCNet(n_clusters=4, random_state=0, pretrain_epochs=100_000)
    def report(stage, done, of, loss):
        if (stage, done) == ("pretrain", 2):
            print("running", flush=True)
    try:
        net.fit(made.views, progress=report)
    except KeyboardInterrupt:
        print("stopped", hasattr(net, "labels_"), flush=True)
    """
)


def test_an_interrupt_ends_a_fit_within_a_second():
    process = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True, cwd=HERE)
    assert process.stdout.readline() == "running\n"
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "stopped False\n"
    # On a busy machine the process may wait for its turn; the engine answers in a fraction of this.
    assert time.monotonic() - started < 1.0
    assert process.wait(timeout=10) == 0


def test_progress_is_called_after_every_step_and_may_stop_the_fit(quick, data):
    steps = []
    quick("cdimc-net").fit(data[0], progress=lambda *step: steps.append(step))
    stages = list(dict.fromkeys(stage for stage, *_ in steps))
    assert stages.index("pretrain") < stages.index("finetune")
    pretrain = [step for step in steps if step[0] == "pretrain"]
    # Five runs of three epochs.
    assert [(done, of) for _, done, of, _ in pretrain] == [(epoch, 15) for epoch in range(1, 16)]
    assert all(isinstance(loss, float) for *_, loss in pretrain)

    def tired(stage, done, of, loss):
        raise RuntimeError(f"tired of {stage}")

    net = quick("cdimc-net")
    with pytest.raises(RuntimeError, match="tired of "):
        net.fit(data[0], progress=tired)
    assert not hasattr(net, "labels_")


def test_one_bar_shows_the_stages(quick, data, capsys, monkeypatch):
    auto, bars = pytest.importorskip("tqdm.auto"), []
    bar = auto.tqdm
    monkeypatch.setattr(auto, "tqdm", lambda **parameters: bars.append(parameters) or bar(**parameters))
    for method in ("cdimc-net", "t-mixture"):
        quick(method).fit(data[0], progress=True)
    said = capsys.readouterr().err
    assert "pretrain: 100%" in said and "refinement: 100%" in said and len(bars) == 2


def test_other_threads_run_during_a_fit():
    made = cdimc.datasets.make_views(2000, 4, views=((60, "linear"), (50, "linear")))
    net = cdimc.CDIMCNet(n_clusters=4, random_state=0, pretrain_epochs=4, finetune_rounds=0)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.01)

    ticker = threading.Thread(target=tick)
    ticker.start()
    started = time.monotonic()
    net.fit(made.views)
    seconds = time.monotonic() - started
    done.set()
    ticker.join()
    # Who held the interpreter would leave one gap as long as the fit; other load makes many short ones.
    gap = max(after - before for before, after in zip(ticks, ticks[1:]))
    assert gap < 0.5 * seconds, f"a gap of {gap:.2f} s in {seconds:.2f} s"


def test_fits_in_many_threads_give_what_one_gives(quick, data):
    expected = quick("daimc").fit_predict(data[0])
    with ThreadPoolExecutor(6) as pool:
        found = pool.map(lambda _: quick("daimc", n_jobs=2).fit_predict(data[0]), range(6))
        assert all(np.array_equal(labels, expected) for labels in found)


def _labels_of(views):
    return cdimc.DAIMC(n_clusters=3, random_state=0, n_jobs=2).fit_predict(views)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_after_a_fit_can_fit(data):
    expected = _labels_of(data[0])
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for labels in pool.map_async(_labels_of, [data[0]] * 4).get(timeout=60):
            assert np.array_equal(labels, expected)


def test_what_the_engine_logs_goes_to_logging(quick, data, caplog):
    with caplog.at_level(logging.DEBUG, logger="cdimc"):
        quick("cdimc-net").fit(data[0])
    records = [record for record in caplog.records if record.name == "cdimc"]
    assert records and "pretrain" in records[0].getMessage()
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="cdimc"):
        quick("cdimc-net").fit(data[0])
    assert not caplog.records


def test_memory_beside_the_input_is_bounded():
    code = textwrap.dedent(
        """
        import resource, sys
        import numpy as np, cdimc
        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        rng = np.random.default_rng(0)
        views = [rng.normal(size=(20_000, 100)) for _ in range(4)]
        size = sum(view.nbytes for view in views)
        cdimc.OPIMC(n_clusters=3, random_state=0).fit([view[:100] for view in views])
        before = peak()
        cdimc.OPIMC(n_clusters=3, random_state=0).fit(views)
        print((peak() - before) / size)
        """
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HERE)
    # The engine's own copies count as well: its table, one view being joined, and what the method makes.
    assert float(made.stdout) < 4.0, made.stdout
