#!/usr/bin/env python3
"""Adds generated pages to the book, for mdbook, and sets formulas.

The pages are the command's options, and the functions of Python and R. Python's functions come from docstrings. Options need the command
`cdimc` and R's functions need R; without them their pages are left out, with a message.

``python3 reference.py settings`` writes `reference/settings.md`, the settings of every method. Run it after `python/generate_methods.py`.
"""

import ast
import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = ROOT / "docs" / "reference" / "settings.md"
MODULES = ("__init__", "datasets", "metrics", "missing", "pl", "pp", "tl")
COMMANDS = ("inspect", "cluster", "predict", "explain", "impute", "evaluate", "compare", "mask")
#: Tables of settings in a file for `--config`.
TABLES = ("advanced", "finetune", "pretrain")
#: Parameters that every class in Python has, and that are not settings of a method.
SHARED = ("n_clusters", "n_clusters_range", "strict", "random_state", "n_jobs")


def command_pages():
    """Yields one page per sub-command: its long help."""
    if not shutil.which("cdimc"):
        print("reference: no command cdimc, its pages are left out", file=sys.stderr)
        return
    for name in COMMANDS:
        text = subprocess.run(["cdimc", name, "--help"], capture_output=True, text=True, check=True).stdout
        yield f"cdimc {name}", f"reference/command-{name}.md", f"# `cdimc {name}`\n\n```text\n{text}```\n"


def settings_page():
    """Returns the page with one table per method: setting, values, default, meaning."""
    tree = ast.parse((ROOT / "python" / "cdimc" / "_methods.py").read_text(encoding="utf-8"))
    parts = [
        "# Settings of every method",
        "For users who change a setting. `docs/reference.py` makes this page from the methods themselves.",
        "A file for `--config` is TOML. A setting with a dot, such as `pretrain.epochs`, is `epochs` in the table `[pretrain]`. In Python it "
        "is the parameter `pretrain_epochs`. A setting without a default is absent.",
    ]
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        method = next(n.value.value for n in node.body if isinstance(n, ast.Assign) and n.targets[0].id == "_method")
        doc = ast.get_docstring(node)
        rows = ["| setting | values | default | meaning |", "| :-- | :-- | :-- | :-- |"]
        for name, kind, default, words in re.findall(r"^(\w+) : (.*), default=(.*)\n((?:    .*\n?)+)", doc, re.M):
            if name not in SHARED:
                table, _, rest = name.partition("_")
                key = (f"{table}.{rest}" if table in TABLES and rest else name).rstrip("_")
                rows.append(f"| `{key.replace('_', '-')}` | {values(kind)} | {toml(default)} | {' '.join(words.split()).replace('``', '`')} |")
        parts += [f"## `{method}`", doc.partition("\n\n")[0].replace("\n", " ").replace("``", "`"), "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def values(kind):
    """Returns the values of a type of Python in words of TOML."""
    names = {"int": "whole number", "float": "number", "bool": "`true` or `false`", "tuple[float, ...]": "list of numbers", "tuple[int, ...]": "list of whole numbers"}
    kinds = [one.strip() for one in kind.split("|") if one.strip() != "None"]
    choices = lambda one: ", ".join(f"`{choice}`" for choice in one.strip("{}").split(", "))  # noqa: E731
    return " or ".join(names.get(one) or choices(one) for one in kinds)


def toml(default):
    """Returns a value of Python as TOML; nothing for None."""
    value = ast.literal_eval(default)
    return "" if value is None else f"`{json.dumps(value)}`"


def python_pages():
    """Writes one page per module; names imported from private modules are on the page of the public module."""
    package = ROOT / "python" / "cdimc"
    trees = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in package.glob("*.py")}
    known = {node.name: node for tree in trees.values() for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    private = [name for name in exported(trees["_methods"]) if name in known]
    for module in MODULES:
        name = "cdimc" if module == "__init__" else f"cdimc.{module}"
        own = {node.name: node for node in trees[module].body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        names = exported(trees[module]) + (private if module == "__init__" else [])
        parts = [f"# `{name}`", prose(ast.get_docstring(trees[module]) or "")]
        parts += [entry(f"{name}.{n}", own.get(n) or known[n]) for n in names if n in own or (module == "__init__" and n in known)]
        yield name, f"reference/{name}.md", "\n\n".join(parts) + "\n"


def exported(tree):
    """Returns the names in ``__all__``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__":
            return ast.literal_eval(node.value)
    return []


def entry(name, node):
    """Returns heading, signature and text of a class, with its public methods, or of a function."""
    if isinstance(node, ast.FunctionDef):
        return f"## {name.rpartition('.')[2]}\n\n{signature(name, node)}\n\n{prose(ast.get_docstring(node) or '')}"
    methods = [n for n in node.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]
    begins = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    fields = [n for n in node.body if isinstance(n, ast.AnnAssign) and node.decorator_list]
    if any(field.target.id == "_" for field in fields):  # Parameters after this field are passed by name.
        call = ", ".join("*" if f.target.id == "_" else f"{f.target.id}={ast.unparse(f.value)}" for f in fields)
        begins = ast.parse(f"def f({call}): pass").body[0]
    text = f"## {node.name}\n\n"
    if begins:
        text += signature(name, begins) + "\n\n"
    elif fields:
        text += f"```python\n{name}({', '.join(ast.unparse(field) for field in fields)})\n```\n\n"
    text += prose(ast.get_docstring(node) or "")
    for method in methods:
        doc = prose(ast.get_docstring(method) or "")
        is_property = any(getattr(d, "id", "") == "property" for d in method.decorator_list)
        head = "" if is_property else f"\n\n{signature(f'{node.name}.{method.name}', method)}"
        text += f"\n\n### {node.name}.{method.name}{head}\n\n{doc}"
    return text


def signature(name, function):
    """Returns the call; a long one has one argument per line."""
    arguments = ast.parse(f"def f({ast.unparse(function.args)}): pass").body[0].args
    own = [a for a in (arguments.posonlyargs + arguments.args)[:1] if a.arg == "self"]
    for argument in own:
        arguments.args.remove(argument)
    for argument in arguments.posonlyargs + arguments.args + arguments.kwonlyargs:
        argument.annotation = None
    inside = ast.unparse(arguments)
    line = f"{name}({inside})"
    if len(line) > 100:
        line = f"{name}(\n    " + ",\n    ".join(re.split(r", (?![^(\[]*[)\]])", inside)) + ",\n)"
    return f"```python\n{line}\n```"


def prose(doc):
    """Returns a docstring of NumPy's form as Markdown."""
    lines, text, section = doc.splitlines(), [], ""
    i = 0
    while i < len(lines):
        line = lines[i]
        if i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1]):
            section, i = line, i + 2
            text += ["", f"**{section}**", ""]
        elif line.startswith(">>>"):
            end = next((j for j in range(i, len(lines)) if not lines[j]), len(lines))
            text += ["```python", *lines[i:end], "```"]
            i = end
        elif section in ("Parameters", "Attributes", "Returns", "Raises", "Yields", "See Also") and line and not line.startswith(" "):
            what, _, kind = line.partition(" : ")
            text.append(f"- `{what}`{': ' + kind if kind else ''}  ")
            i += 1
        else:
            # Indented text belongs to the item above.
            text.append(("  " + line.strip() if line.startswith(" ") and section else line).replace("``", "`"))
            i += 1
    return "\n".join(text).strip()


def r_pages():
    """Returns one page per topic, made by R itself."""
    if not shutil.which("Rscript"):
        print("reference: no R, its pages are left out", file=sys.stderr)
        return
    for path in sorted((ROOT / "r" / "cdimc" / "man").glob("*.Rd")):
        program = f'tools::Rd2HTML("{path.as_posix()}", stages = c("build", "install", "render"), package = "cdimc")'
        html = subprocess.run(["Rscript", "--vanilla", "-e", program], capture_output=True, text=True, check=True).stdout
        title = re.search(r"\\title\{(.*)\}", path.read_text(encoding="utf-8"))[1]
        body = re.search(r"</h2>(.*?)(<hr|</body>)", html, re.S)[1]
        body = re.sub(r"<pre>(?!<code)(.*?)</pre>", r"<pre><code>\1</code></pre>", body, flags=re.S)
        # A blank line would end the block of HTML.
        body = re.sub(r"<pre>.*?</pre>", lambda m: m[0].replace("\n\n", "\n&#10;"), body, flags=re.S)
        body = re.sub(r"\n\s*\n", "\n", body).replace("</div>", "")
        name = path.stem
        yield name, f"reference/r/{name}.md", f"# {name}: {title}\n\n<div>\n{body.strip()}\n</div>\n"


def chapter(name, path, content, parents=(), below=()):
    return {"Chapter": {"name": name, "content": content, "number": None, "sub_items": list(below), "path": path,
                        "source_path": None, "parent_names": list(parents)}}


def set_formulas(items):
    """Turns blocks marked ``math``, which GitHub renders, into formulas that MathJax renders in the book."""
    for chapter in (item["Chapter"] for item in items if "Chapter" in item):
        chapter["content"] = re.sub(
            r"^```math\n(.*?)\n```$",
            lambda formula: f"<div>\\[\n{html.escape(formula[1])}\n\\]</div>",
            chapter["content"],
            flags=re.M | re.S,
        )
        set_formulas(chapter["sub_items"])


def main():
    if sys.argv[1:2] == ["supports"]:
        sys.exit(0 if sys.argv[2] == "html" else 1)
    if sys.argv[1:2] == ["settings"]:
        SETTINGS.write_text(settings_page(), encoding="utf-8")
        return
    _, book = json.load(sys.stdin)
    items = book["items"] if "items" in book else book["sections"]
    set_formulas(items)
    items.append({"PartTitle": "Generated reference"})
    for title, path, pages in (
        ("Command: options", "reference/command.md", command_pages()),
        ("Python: functions", "reference/python.md", python_pages()),
        ("R: functions", "reference/r.md", r_pages()),
    ):
        pages = list(pages)
        if pages:
            list_of = "\n".join(f"- [{name}]({page.removeprefix('reference/')})" for name, page, _ in pages)
            below = [chapter(*page, parents=[title]) for page in pages]
            items.append(chapter(title, path, f"# {title}\n\n{list_of}\n", below=below))
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
