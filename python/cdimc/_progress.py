"""Progress of a fit: a function of the user, or a bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

#: Called with stage, steps done, number of steps and loss.
Progress: TypeAlias = Callable[[str, int, int, "float | None"], object]


def reporter(progress: Progress | bool | None) -> Progress | None:
    """Returns the function that a fit calls after each step, or None.

    True shows tqdm's bar, or one line per stage on standard error if tqdm is not installed.
    """
    if progress is None or progress is False:
        return None
    if callable(progress):
        return progress
    if progress is not True:
        raise ValueError(f"progress = {progress!r}: must be True, False, None or a function")
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines()
    return _Bar(tqdm)


class _Bar:
    """One bar per fit, which shows the current stage; it is closed when the fit drops it."""

    def __init__(self, tqdm: Any) -> None:
        self.tqdm, self.stage = tqdm, ""
        self.bar: Any = None

    def __call__(self, stage: str, done: int, of: int, loss: float | None) -> None:
        if self.bar is None:
            self.bar = self.tqdm(total=of, desc=stage)
        elif stage != self.stage:
            self.bar.refresh()
            self.bar.set_description(stage, refresh=False)
            self.bar.reset(of)
        self.stage, self.bar.total = stage, of
        self.bar.update(done - self.bar.n)
        if loss is not None:
            self.bar.set_postfix(loss=f"{loss:.4g}", refresh=False)


class _Lines:
    def __init__(self) -> None:
        self.stage = ""

    def __call__(self, stage: str, done: int, of: int, loss: float | None) -> None:
        import sys

        if stage != self.stage:
            self.stage = stage
            print(f"{stage}: {of} steps", file=sys.stderr)
