"""How far a fit is: a function of the user's, or a bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

#: Called with the stage, the steps done, their number and the loss.
Progress: TypeAlias = Callable[[str, int, int, "float | None"], object]


def reporter(progress: Progress | bool | None) -> Progress | None:
    """The function that a fit calls at its steps, or None.

    True gives tqdm's bar where tqdm is installed, and a line a stage on standard error where it is not.
    """
    if progress is None or progress is False:
        return None
    if progress is not True:
        return progress
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines()
    return _Bar(tqdm)


class _Bar:
    def __init__(self, tqdm: Any) -> None:
        self.tqdm, self.stage = tqdm, ""
        self.bar: Any = None

    def __call__(self, stage: str, done: int, of: int, loss: float | None) -> None:
        if self.bar is None or stage != self.stage:
            if self.bar is not None:
                self.bar.close()
            self.bar, self.stage = self.tqdm(total=of, desc=stage), stage
        self.bar.update(done - self.bar.n)
        if loss is not None:
            self.bar.set_postfix(loss=f"{loss:.4g}", refresh=False)
        if done >= of:
            self.bar.close()
            self.bar = None


class _Lines:
    def __init__(self) -> None:
        self.stage = ""

    def __call__(self, stage: str, done: int, of: int, loss: float | None) -> None:
        import sys

        if stage != self.stage:
            self.stage = stage
            print(f"{stage}: {of} steps", file=sys.stderr)
