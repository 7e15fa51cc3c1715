"""SQL examples of the documentation are statements of the grammar. ``docs/tutorial.md`` is run by tests/clients too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coordinator.cli.shell.splitter import inputs
from coordinator.sql.parse_statement import parse_statement
from shared.errors import ProcessionError

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```sql\n(.*?)^```", re.DOTALL | re.MULTILINE)
TEMPLATES = ("{%", "…", "...", "<")


def examples(page: Path) -> list[str]:
    """Every statement, also those without a semicolon of which a line each is one."""
    found = []
    for block in BLOCK.findall(page.read_text()):
        typed, rest = inputs(block)
        found += [entry.text for entry in typed] + ([rest] if rest else [])
    return [text for text in found if not any(mark in text for mark in TEMPLATES)]


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.name)
def test_examples_parse(page: Path) -> None:
    wrong = []
    for text in examples(page):
        try:
            parse_statement(text)
        except ProcessionError as error:
            wrong.append(f"{error.message}: {text[:80]!r}")
    assert wrong == []
