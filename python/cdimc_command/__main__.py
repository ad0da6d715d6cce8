"""Runs the command of the engine in the package ``cdimc``."""

from __future__ import annotations

import signal
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType


def engine() -> ModuleType:
    """Loads the module ``cdimc._cdimc`` without the rest of its package."""
    if loaded := sys.modules.get("cdimc._cdimc"):
        return loaded
    package = find_spec("cdimc")
    spec = package and PathFinder.find_spec("_cdimc", package.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("no module cdimc._cdimc: the package `cdimc` is not installed as a whole")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    """Runs the command with the arguments of the interpreter; returns its exit code."""
    # Python handles no signals while the engine works, so Ctrl-C gets the default handler.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    code: int = engine().command([sys.executable, __file__], sys.argv[1:])
    return code


if __name__ == "__main__":
    sys.exit(main())
