"""Progress and summary, drawn from what servers send: ours without stages, Presto's and Trino's with them."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from rich.console import Console, Group

from coordinator.cli.answers import DECODER
from coordinator.cli.client import Page
from coordinator.cli.login import ExternalLogin, LoginError, print_address
from coordinator.cli.shell.output_format import OutputFormat
from coordinator.cli.shell.pager import Pager
from coordinator.cli.shell.runner import Display, _Running
from coordinator.cli.shell.status import status_lines, summary


def page(**stats: object) -> Page:
    counts = {"state": "RUNNING", "queuedSplits": 646, "runningSplits": 34, "completedSplits": 175, "totalSplits": 855}
    amounts = {"processedRows": 6_450_000, "processedBytes": 560_000_000, "elapsedTimeMillis": 13_000, "nodes": 2}
    text = json.dumps({"id": "q_16", "stats": counts | amounts | stats, "warnings": [], "unknown": 1})
    answer = DECODER.decode(text)
    return Page(answer.id, answer.columns, answer.data, answer.stats, ())


def drawn(shown: Page, width: int = 110) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None, legacy_windows=False)
    console.print(Group(*status_lines(shown, 13.0)))  # as it is drawn
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in text.splitlines()]


def test_progress_has_splits_rate_and_stages() -> None:
    leaf = {"stageId": "16.1", "state": "RUNNING", "processedRows": 666_000, "queuedSplits": 563, "runningSplits": 65}
    root = {"stageId": "16.0", "state": "RUNNING", "completedSplits": 7, "subStages": [leaf]}
    head, rate, *stages = drawn(page(rootStage=root))
    assert head == "Query q_16, RUNNING, 855 splits: 646 queued, 34 running, 175 done"
    assert rate.startswith("0:13 [6.45M rows, 560MB] [496K rows/s, 43.1MB/s]")
    assert rate.endswith(" 20%")
    assert stages[0].split() == ["STAGE", "S", "ROWS", "ROWS/s", "BYTES", "BYTES/s", "QUEUED", "RUN", "DONE"]
    assert [line.split() for line in stages[1:]] == [
        ["0.........", "R", "0", "0", "0B", "0B", "0", "0", "7"],
        ["1.......", "R", "666K", "51.2K", "0B", "0B", "563", "65", "0"],
    ]
    assert len(drawn(page(totalSplits=0))) == 2
    assert drawn(page(), 40)[0] == "Query q_16, RUNNING, 855 splits: 646 qu…"


def test_a_summary_as_presto_cli_has_it() -> None:
    done = page(state="FINISHED", completedSplits=855)
    assert summary(done) == (
        "Query q_16, FINISHED, 2 nodes\n"
        "Splits: 855 total, 855 done (100.00%)\n"
        "13.00 [6.45M rows, 560MB] [496K rows/s, 43.1MB/s]\n"
    )
    assert "Splits" not in summary(page(totalSplits=0))


def test_what_a_server_says_does_not_steer_the_terminal() -> None:
    stage = {"stageId": "\x1b[2J[red]", "state": "\x1b"}
    hostile = replace(page(state="\x1b]0;x\x07", rootStage=stage), query_id="\x1b[31mq")
    assert "\x1b" not in summary(hostile)
    lines = drawn(hostile)
    assert lines[0].startswith("Query \\x1b[31mq, \\x1b]0;x\\x07,")
    assert lines[3].split()[:2] == ["\\x1b[2J[red]", "\\x1b"]


def test_a_change_and_an_address_do_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = replace(page(), update_type="INSERT\x1b[2J", info_uri="http://h/\x1b[2J")
    output = io.StringIO()
    running = _Running(Display(OutputFormat.ALIGNED, debug=True), output)
    running.last = hostile
    running.sum_up()
    assert output.getvalue() == "INSERT\\x1b[2J\n"
    assert capsys.readouterr().err == "http://h/\\x1b[2J\n"


@pytest.mark.parametrize("address", ["http://h/login", "file:///tmp/x", "--help", "javascript:alert(1)", ""])
def test_the_browser_opens_pages_over_https_alone(address: str) -> None:
    shown: list[str] = []
    challenge = f'Bearer x_redirect_server="{address}", x_token_server="https://h/token"'
    with httpx.Client(timeout=60) as http, pytest.raises(LoginError, match="login page is not https"):
        ExternalLogin(shown.append, seconds=0).answer(http, challenge)
    assert shown == []


def test_the_address_of_the_login_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_address("https://h/\x1b[2J")
    assert capsys.readouterr().err.endswith("https://h/\\x1b[2J\n")


def test_the_pager_starts_only_for_what_leaves_the_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept"
    command = ("/bin/sh", "-c", f"cat > {kept}")
    size = os.terminal_size((20, 5))
    with Pager(command, size) as pager:
        pager.write("a\nb\nc\n")
    assert (capsys.readouterr().out, kept.exists()) == ("a\nb\nc\n", False)
    for text in ("a\n" * 5, "x" * 21 + "\n"):
        with Pager(command, size) as pager:
            pager.write(text)
            pager.write("more\n")
        assert (capsys.readouterr().out, kept.read_text()) == ("", text + "more\n")
    with Pager(("/bin/sh", "-c", "exit 0"), size) as pager, pytest.raises(BrokenPipeError):
        for _ in range(1000):
            pager.write("a\n" * 1000)
