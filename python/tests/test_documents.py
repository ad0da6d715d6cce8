"""The documents' programs run as they are written."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/guides/python.md", "docs/tutorial/reproduce.md", "python/README.md"])
def test_programs_of_the_documents_run(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    programs = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    assert programs
    known = {}
    for program in programs:
        exec(compile(program, page, "exec"), known)
