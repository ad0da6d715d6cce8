"""Writes cdimc/_methods.py: an estimator a method, from the registry's settings and the words of the Rust sources.

Run it where the package is installed, after a method or a setting was added: ``python -P generate_methods.py``.
"""

from __future__ import annotations

import inspect
import itertools
import json
import re
import textwrap
from pathlib import Path
from typing import Any

from cdimc import _cdimc
from cdimc._estimator import parameter_name

HERE = Path(__file__).resolve().parent
TARGET = HERE / "cdimc" / "_methods.py"

#: The estimator of each method, and the struct of its settings.
NAMES = {
    "t-mixture": ("TMixture", "TMixture"),
    "cdimc-net": ("CDIMCNet", "CdimcNet"),
    "best-view": ("BestView", "BestView"),
    "concat": ("Concat", "Concat"),
    "mic": ("MIC", "Mic"),
    "omvc": ("OMVC", "Omvc"),
    "daimc": ("DAIMC", "Daimc"),
    "opimc": ("OPIMC", "Opimc"),
    "mkkm-ik-mkc": ("MKKMIKMKC", "MkkmIkMkc"),
    "mkkm-ik": ("MKKMIK", "MkkmIk"),
    "pmvc": ("PMVC", "Pmvc"),
    "img": ("IMG", "Img"),
    "imc-grmf": ("IMCGRMF", "ImcGrmf"),
    "pmvc-cgan": ("PMVCCGAN", "PmvcCgan"),
}

#: Settings that are not told where they have their default.
UNTOLD = {
    "cdimc-net": [
        ("restarts", "int", 1, "Runs, of which that wins on whose clusters the views agree most."),
        ("engine", "str | None", None, "What computes the training steps; by default the device's own."),
        (
            "components",
            "int | None",
            None,
            "Leading directions to which a wider view is reduced before the network; by default 128 for a view with "
            "more columns than there are samples, and none for others. With 0 every view keeps its columns.",
        ),
    ],
}

#: What all estimators have beside the settings: name, type, default, words.
SHARED = [
    ("n_clusters_range", "tuple[int, int]", (2, 12), 'First and last number of clusters that "auto" tries.'),
    ("strict", "bool", False, "Whether single missing cells are refused instead of filled in."),
    ("random_state", "Any", None, "An int gives the bits of the command's ``--seed``; None draws one."),
    ("n_jobs", "int | None", None, "Threads; -1 for all cores. The result does not depend on it."),
]


class Struct:
    """A struct of settings in the Rust sources: its words and those of its fields."""

    def __init__(self, name: str, sources: list[str]) -> None:
        start = f"\npub struct {name} {{\n"
        before, _, after = next(source for source in sources if start in source).partition(start)
        doc = itertools.takewhile(lambda line: line.startswith(("///", "#[")), reversed(before.split("\n")))
        self.words = _words("\n".join(line for line in reversed(list(doc)) if line.startswith("///")))
        self.fields: dict[str, tuple[str, str]] = {}
        body = after.partition("\n}")[0]
        for field in re.finditer(r"((?:^ *///.*\n)*)(?:^ *#\[.*\n)*^ *pub (\w+): (.+),$", body, re.M):
            self.fields[field[2].replace("_", "-")] = (_words(field[1]), field[3])


def _words(doc: str) -> str:
    """A Rust doc comment as plain text, without its examples."""
    text = "\n".join(line.strip().removeprefix("///").removeprefix(" ") for line in doc.splitlines())
    text = text.split("```")[0]
    text = re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", text)
    text = re.sub(r"`([^`]+)`", lambda m: f"``{m[1]}``", text)
    return text.strip()


def _parameters(struct: Struct, defaults: Any, sources: list[str], prefix: tuple[str, ...] = ()) -> list[Any]:
    """Name, type, default and words of every setting, in the order of the Rust sources."""
    found: list[Any] = []
    for field, (words, rust_type) in struct.fields.items():
        path = (*prefix, field)
        default = defaults.get(field)
        inner = rust_type.rpartition("::")[2]
        if isinstance(default, dict):
            found += _parameters(Struct(inner, sources), default, sources, path)
        elif field in defaults:
            default = tuple(default) if isinstance(default, list) else default
            words = " ".join(words.split())
            choices = _choices(inner, sources)
            found.append((parameter_name(path), _annotation(rust_type, default), default, words, choices))
    return found


def _choices(name: str, sources: list[str]) -> str:
    """The texts that an enum of the Rust sources takes, where it is one."""
    for source in sources:
        _, there, body = source.partition(f"\npub enum {name} {{\n")
        if there:
            variants = re.findall(r"^    (\w+)(?:,| \{|\()", body.partition("\n}")[0], re.M)
            kebab = [re.sub(r"(?<!^)(?=[A-Z])", "-", variant).lower() for variant in variants]
            return "{" + ", ".join(f'"{text}"' for text in kebab) + "}"
    return ""


def _annotation(rust_type: str, default: Any) -> str:
    if default is None:
        return "float | None"
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, tuple):
        return "tuple[int, ...]"
    return {int: "int", float: "float", str: "str | dict[str, Any]"}[type(default)]


def _estimator(method: str, sources: list[str]) -> str:
    name, struct_name = NAMES[method]
    struct = Struct(struct_name, sources)
    defaults = json.loads(_cdimc.Method(method, "{}").settings)
    parameters = _parameters(struct, defaults, sources)
    parameters += [(*untold, "") for untold in UNTOLD.get(method, [])]
    lines = [f"class {name}(MultiViewClusterer):"]
    summary, _, rest = struct.words.partition("\n")
    while rest and not rest.startswith("\n"):
        more, _, rest = rest.partition("\n")
        summary += " " + more
    doc = [_fill(summary), ""]
    for paragraph in re.split(r"\n\s*\n", rest.strip()):
        if paragraph:
            doc += [_fill(" ".join(paragraph.split())), ""]
    doc += [f"The command calls it ``{method}``.", "", "Parameters", "----------"]
    doc += ['n_clusters : int or "auto"', "    Number of clusters; \"auto\" tries ``n_clusters_range`` and chooses."]
    for parameter, annotation, default, words, choices in parameters:
        shown = choices or annotation.replace(" | dict[str, Any]", "")
        doc += [f"{parameter} : {shown}, default={_literal(default)}", textwrap.indent(_fill(words), "    ")]
    for parameter, annotation, default, words in SHARED:
        doc += [f"{parameter} : {annotation}, default={_literal(default)}", textwrap.indent(_fill(words), "    ")]
    doc += ["", "See Also", "--------", "MultiViewClusterer : its methods and attributes."]
    text = "\n".join(doc).strip("\n")
    lines += ['    """' + textwrap.indent(text, "    ").lstrip(), '    """', "", f'    _method = "{method}"', ""]
    lines += ["    def __init__(", "        self,", '        n_clusters: int | str = 8,', "        *,"]
    everything = [(p, a, d) for p, a, d, *_ in parameters] + [(p, a, d) for p, a, d, _ in SHARED]
    lines += [f"        {p}: {a} = {_literal(d)}," for p, a, d in everything]
    lines += ["    ) -> None:", "        self.n_clusters = n_clusters"]
    lines += [f"        self.{p} = {p}" for p, _, _ in everything]
    return "\n".join(lines)


def _literal(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _fill(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def generate() -> str:
    """The whole file."""
    crates = HERE.parent / "crates"
    sources = [path.read_text() for path in sorted(crates.glob("*/src/**/*.rs"))]
    methods = _cdimc.method_names()
    classes = "\n\n\n".join(_estimator(method, sources) for method in methods)
    names = "".join(f'    "{name}",\n' for name in sorted(NAMES[method][0] for method in methods))
    head = inspect.cleandoc(
        '''
        """An estimator a method; written by generate_methods.py from the registry and the Rust sources."""

        from __future__ import annotations

        from typing import Any

        from ._estimator import MultiViewClusterer
        '''
    )
    tail = inspect.cleandoc(
        '''
        def by_name(method: str) -> type[MultiViewClusterer]:
            """The estimator of the method that the command calls ``method``."""
            classes = {cls._method: cls for cls in MultiViewClusterer.__subclasses__()}
            if method not in classes:
                raise ValueError(f"unknown method `{method}`: must be one of {', '.join(classes)}")
            cls: type[MultiViewClusterer] = classes[method]
            return cls
        '''
    )
    return f"{head}\n\n__all__ = [\n{names}]\n\n\n{classes}\n\n\n{tail}\n"


if __name__ == "__main__":
    TARGET.write_text(generate())
