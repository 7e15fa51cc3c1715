"""The prompt of ``procession sql`` on a real pseudo-terminal over the shared service without Spark."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.cli.shell.terminal import Terminal

pytestmark = pytest.mark.slow
LONG = (
    "SELECT count(*) FROM UNNEST(sequence(1, 10000)) AS a (x) CROSS JOIN UNNEST(sequence(1, 10000)) AS b (y) "
    "CROSS JOIN UNNEST(sequence(1, 10000)) AS c (z) WHERE x * y * z = 7"
)
Open = Callable[..., Terminal]


@pytest.fixture
def opened(server: str, tmp_path: Path) -> Iterator[Open]:
    terminals: list[Terminal] = []

    def made(*arguments: str, **options: object) -> Terminal:
        terminal = Terminal(tmp_path, "--server", server, *arguments, **options)  # type: ignore[arg-type]
        terminals.append(terminal)
        terminal.expect(r"procession[\w:.]*>")  # the blank after it is drawn as a move of the cursor
        return terminal

    try:
        yield made
    finally:
        for terminal in terminals:
            terminal.close()


def test_a_session(opened: Open, tmp_path: Path) -> None:
    """Lines up to a semicolon, an error with its place, shortcuts, variables, records, history: one shell for all."""
    terminal = opened("--catalog", "tpch", "--schema", "tiny")
    terminal.enter("SELECT 40 + 2")
    terminal.enter("AS answer;")
    terminal.expect(r"answer \n-+\n +42 \n\(1 row\)\n\nQuery \w+, FINISHED, 1 node\n")
    terminal.enter("SELECT nope;")
    terminal.expect(r"failed: line 1:8: Column 'nope' cannot be resolved\nLINE 1: SELECT nope\n {15}\^")
    terminal.enter("SELECT nationkey, name FROM nation ORDER BY 1 LIMIT 1 \\G")
    terminal.expect(r"-\[ RECORD 1 \]-+\nnationkey \| 0\nname +\| ALGERIA\n")
    terminal.enter("\\d nation")
    terminal.expect(r"nationkey \| bigint")
    terminal.enter("\\c iceberg.information_schema")
    terminal.expect("procession:iceberg.information_schema>")
    terminal.enter("\\set day '2026-01-02'")
    terminal.enter("SELECT DATE :'day' AS d, ':day' AS s;")
    terminal.expect(r"2026-01-02 \| :day")
    terminal.enter("\\timing on")
    terminal.enter("SELECT 1; SELECT 2;")
    terminal.expect(r"Time: [\d.,]+ ms(.|\n)*\(1 row\)\nTime: [\d.,]+ ms")
    terminal.enter(" SELECT 'a secret';")
    terminal.expect("a secret")
    terminal.enter("quit")
    assert terminal.process.wait(60) == 0
    history = tmp_path / "procession" / "history"
    assert "+SELECT 40 + 2\n+AS answer;" in history.read_text()
    assert "secret" not in history.read_text()
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert terminal.colored


def test_tab_completes_from_the_server(opened: Open) -> None:
    terminal = opened()
    terminal.type("SELECT count(*) FROM tpch.tiny.nat\t")
    terminal.expect("\x08ion")  # what the screen lacked of the name
    terminal.enter(";")
    terminal.expect(r" +25 \n")
    terminal.type("CALL iceberg.system.rewrite_data_f\t")
    terminal.expect("\x08iles")
    terminal.type("(table_n\t")
    terminal.expect(r"table_name =>")
    terminal.type("\x03")  # takes the line away
    terminal.enter("SELECT 3 AS three;")
    terminal.expect(r"three \n-+\n +3 ")


def test_the_editor_the_pager_and_watch(opened: Open, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "SELECT 6 * 7 AS edited;" > "$1"\n')
    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\necho "PAGED"\nsed -n "\\$p"\n')
    for script in (editor, pager):
        script.chmod(0o755)
    terminal = opened(rows=12, EDITOR=str(editor), VISUAL="", TRINO_PAGER=str(pager))
    terminal.enter("\\e")
    terminal.expect("SELECT 6")
    terminal.enter("")
    terminal.expect(r"edited \n-+\n +42 \n")
    terminal.enter("SELECT x FROM UNNEST(sequence(1, 99)) AS t (x);")
    terminal.expect(r"PAGED\n\(99 rows\)\n")
    terminal.enter("SELECT 'again' AS w \\watch 0.1")
    terminal.expect(r"(every 0.1s(.|\n)*){3}")
    terminal.type("\x03")
    terminal.expect("procession>")
    terminal.enter("SELECT 5 AS five;")
    terminal.expect(r"five \n-+\n +5 ")


def test_ctrl_c_cancels_the_running_statement_and_keeps_the_prompt(opened: Open, server: str) -> None:
    terminal = opened()
    terminal.enter(f"{LONG};")
    deadline = time.monotonic() + 60
    while not [q for q in queries(server) if q["state"] in ("STARTING", "RUNNING")]:
        assert time.monotonic() < deadline, queries(server)
        time.sleep(0.1)
    terminal.expect(r"Query \w+, RUNNING, ")
    terminal.type("\x03")
    terminal.expect(r"Query \S+ was canceled")
    assert queries(server)[0]["errorCode"]["name"] == "USER_CANCELED"
    terminal.enter("SELECT 1;")
    terminal.expect(r"\(1 row\)")


def queries(server: str) -> list[dict]:
    found = httpx.get(f"{server}/v1/query", timeout=60).json()
    return [q for q in found if q["query"].startswith(LONG[:80])]


def test_a_statement_ends_with_the_rows_so_far(opened: Open) -> None:
    terminal = opened("--pager", "")
    terminal.enter(LONG + ";")
    terminal.expect("RUNNING")
    terminal.type("\x1c")
    terminal.expect(r"\(0 rows\)\n(.|\n)*WARNING: The query was ended early: rows may be missing\n")
    terminal.expect(r"Query \w+, FINISHED")
    terminal.enter("SELECT 7 * 6;")
    terminal.expect(r"42 \n\(1 row\)")
