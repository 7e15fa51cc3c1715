"""``docs/tutorial.md`` runs from top to bottom, and prints what it says. ``BLESS=1`` writes what is printed."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest

from coordinator.cli.client import ClientSession, StatementClient, StatementError
from coordinator.cli.shell.failures import marked
from coordinator.cli.shell.formats import RowPrinter
from coordinator.cli.shell.output_format import OutputFormat
from coordinator.cli.shell.splitter import split_statements
from tests.e2e.service import Service

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"```sql\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
UNSTABLE = ("CALL iceberg.system", "$files")
"""Ids, bytes and numbers of files depend on who wrote them."""


def printed(client: StatementClient, statement: str) -> str:
    """What the shell shows of it, without the blanks at the ends of lines."""
    output = io.StringIO()
    printer = RowPrinter(output, OutputFormat.ALIGNED)
    try:
        for page in client.execute(statement):
            if page.update_type is None:
                printer.add(page.columns, page.rows)
    except StatementError as error:
        assert error.location is not None, error
        return f"{error}\n{marked(statement, error.location, 100)}"
    printer.finish()
    if any(word in statement for word in UNSTABLE):
        return ""
    return re.sub(r" +$", "", output.getvalue(), flags=re.MULTILINE)


def test_every_block_prints_what_the_page_says(whole_service: Service) -> None:
    text = PAGE.read_text()
    with StatementClient(whole_service.url, ClientSession("tester")) as client:

        def run(block: re.Match[str]) -> str:
            statements = split_statements(block[1])[0]
            shown = "".join(printed(client, statement) for statement in statements)
            return f"```sql\n{block[1]}```\n" + (f"\n```text\n{shown}```\n" if shown else "")

        now = BLOCK.sub(run, text)
    if os.environ.get("BLESS"):
        PAGE.write_text(now)
    assert now == text
