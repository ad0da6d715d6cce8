"""Damages copies of files and reads each with cdimc in a process of its own; prints a line of JSON per copy.

    cargo build -p xtask
    python damage.py target/debug/xtask SEEDS OUT COUNT [SEED] > read.jsonl

SEEDS holds files as `seeds.py` makes them. A line has the tables or the error, memory, seconds, and how the process ended.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

#: Values that break lengths and offsets.
ODD = (0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)
#: A reader that takes longer hangs.
SECONDS = 60


def damage(data, other, rng):
    """Damages the bytes once, as a disk, a broken connection or an attacker would."""
    if not data or not other:
        return data
    at, to, length = rng.randrange(len(data)), rng.randrange(len(data)), rng.randint(1, 16)
    before, part, after = data[:at], data[at : at + length], data[at + length :]
    written = lambda words: (before + words + data[at + len(words) :])[: len(data)]  # noqa: E731
    odd = rng.choice(ODD).to_bytes(8, "little")[: 1 << rng.randrange(4)]
    start = rng.randrange(len(other))
    kinds = (
        lambda: written(bytes([data[at] ^ 1 << rng.randrange(8)])),
        lambda: written(bytes([rng.randrange(256)])),
        lambda: before,
        lambda: before + bytes(len(part)) + after,
        lambda: before + b"\xff" * len(part) + after,
        lambda: before + after,
        lambda: data[:to] + part + data[to:],
        lambda: written(odd),
        lambda: written(other[start : start + length]),
        lambda: written(data[to : to + 1]),
    )
    return rng.choice(kinds)()


def read(program, path):
    """What cdimc reads of a file, and what that costs."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([program, "study", "damage", "one", path], stdout=output, stderr=errors)
        hangs = threading.Timer(SECONDS, child.kill)
        hangs.start()
        # Of the process and of the process that decodes for it.
        _, status, usage = os.wait4(child.pid, 0)
        hung = not hangs.is_alive()
        hangs.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        text = [(stream.seek(0), stream.read())[1] for stream in (output, errors)]
    try:
        line = {"outcome": json.loads(text[0])}
    except ValueError:
        line = {}
    line |= {"file": str(path), "peak_bytes": usage.ru_maxrss * 1024, "seconds": time.monotonic() - start}
    return line | {"panicked": b"panicked" in text[1], "crashed": child.returncode != 0, "hung": hung}


def main():
    program, seeds, out, count = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), int(sys.argv[4])
    rng = random.Random(int(sys.argv[5]) if len(sys.argv) > 5 else 0)
    files = sorted(seeds.iterdir())
    out.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        file, other = rng.choice(files), rng.choice(files).read_bytes()
        data = file.read_bytes()
        for _ in range(rng.randint(1, 3)):
            data = damage(data, other, rng)
        path = out / f"{number:06}-{file.name}"
        path.write_bytes(data)
        print(json.dumps(read(program, path)), flush=True)


main()
