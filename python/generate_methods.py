"""Writes cdimc/_methods.py: one estimator per method, from the schema of its settings.

Run it after a method or setting was added, with the package installed: ``python -P generate_methods.py``.
"""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cdimc import _cdimc
from cdimc._estimator import parameter_name

TARGET = Path(__file__).resolve().parent / "cdimc" / "_methods.py"

#: The estimator of each method.
NAMES = {
    "t-mixture": "TMixture",
    "cdimc-net": "CDIMCNet",
    "best-view": "BestView",
    "concat": "Concat",
    "mic": "MIC",
    "omvc": "OMVC",
    "daimc": "DAIMC",
    "opimc": "OPIMC",
    "mkkm-ik-mkc": "MKKMIKMKC",
    "mkkm-ik": "MKKMIK",
    "pmvc": "PMVC",
    "img": "IMG",
    "imc-grmf": "IMCGRMF",
    "pmvc-cgan": "PMVCCGAN",
}


class Parameter(NamedTuple):
    """Parameter of an estimator."""

    name: str
    type: str
    default: Any
    words: str


#: Parameters of all estimators, in addition to the settings.
SHARED = [
    Parameter("n_clusters_range", "tuple[int, int]", (2, 12), 'First and last number of clusters that "auto" tries.'),
    Parameter("strict", "bool", False, "Whether single missing cells are an error instead of being filled in."),
    Parameter("random_state", "Any", None, "Seed; an int gives the same bits as ``--seed`` of the command, None draws one."),
    Parameter("n_jobs", "int | None", None, "Number of threads, -1 for all cores; the result does not depend on it."),
]


def _parameters(schema: dict[str, Any], defaults: dict[str, Any], prefix: tuple[str, ...] = ()) -> Iterator[Parameter]:
    """Yields the settings in the order of their defaults, then settings without a default."""
    settings = schema["properties"]
    for key in [*defaults, *(key for key in settings if key not in defaults)]:
        setting, default, path = settings[key], defaults.get(key), (*prefix, key)
        if isinstance(default, dict):
            yield from _parameters(setting, default, path)
        else:
            default = tuple(default) if isinstance(default, list) else default
            words = " ".join(_words(setting["description"] + _choices(setting)).split())
            yield Parameter(parameter_name(path), _annotation(setting), default, words)


def _choices(schema: dict[str, Any]) -> str:
    """Returns what each choice means, if the schema describes it."""
    described = [f"`{choice['const']}`: {choice['description']}" for choice in schema.get("oneOf", []) if "description" in choice]
    return " " + " ".join(described)


def _annotation(schema: dict[str, Any]) -> str:
    """Returns the Python type of a schema."""
    if alternatives := schema.get("anyOf"):
        return " | ".join(map(_annotation, alternatives))
    if choices := schema.get("enum") or [choice["const"] for choice in schema.get("oneOf", [])]:
        return f"Literal[{', '.join(map(_literal, choices))}]"
    if isinstance(schema["type"], list):
        return " | ".join(_annotation({**schema, "type": kind}) for kind in schema["type"])
    if schema["type"] == "array":
        return f"tuple[{_annotation(schema['items'])}, ...]"
    return {"integer": "int", "number": "float", "boolean": "bool", "null": "None"}[schema["type"]]


def _words(text: str) -> str:
    """Converts a Rust doc comment to plain text, without examples."""
    text = text.split("```")[0].split("# References")[0]
    text = re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", text)
    text = re.sub(r"\\([\[\]])", r"\1", text)
    return re.sub(r"`([^`]+)`", r"``\1``", text).strip()


def _estimator(method: str) -> str:
    name, described = NAMES[method], json.loads(_cdimc.Method(method, "{}").described)
    parameters = [*_parameters(described["schema"], described["defaults"]), *SHARED]
    doc: list[str] = []
    for paragraph in _words(described["schema"]["description"]).split("\n\n"):
        doc += [_fill(" ".join(paragraph.split())), ""]
    doc += [f"Its name in the command is ``{method}``.", "", "Parameters", "----------"]
    doc += ['n_clusters : int or "auto"', "    Number of clusters; \"auto\" selects one from ``n_clusters_range``."]
    for parameter in parameters:
        shown = re.sub(r"Literal\[(.+?)\]", r"{\1}", parameter.type)
        doc += [f"{parameter.name} : {shown}, default={_literal(parameter.default)}"]
        doc += [textwrap.indent(_fill(parameter.words), "    ")]
    doc += ["", "See Also", "--------", "MultiViewClusterer : its methods and attributes."]
    lines = ["@dataclass(eq=False, repr=False)", f"class {name}(MultiViewClusterer):"]
    lines += ['    """' + textwrap.indent("\n".join(doc), "    ").lstrip(), '    """', "", f'    _method = "{method}"']
    lines += ['    n_clusters: int | Literal["auto"] = 8', "    _: KW_ONLY"]
    lines += [f"    {p.name}: {p.type} = {_literal(p.default)}" for p in parameters]
    return "\n".join(lines)


def _literal(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def _fill(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def generate() -> str:
    """Returns the content of the file."""
    methods = _cdimc.method_names()
    classes = "\n\n\n".join(_estimator(method) for method in methods)
    names = "".join(f'    "{name}",\n' for name in sorted(NAMES[method] for method in methods))
    head = inspect.cleandoc(
        '''
        """One estimator per method; written by generate_methods.py from the schema of its settings."""

        from __future__ import annotations

        from dataclasses import KW_ONLY, dataclass
        from typing import Any, Literal

        from ._estimator import MultiViewClusterer
        '''
    )
    return f"{head}\n\n__all__ = [\n{names}]\n\n\n{classes}\n"


if __name__ == "__main__":
    TARGET.write_text(generate())
