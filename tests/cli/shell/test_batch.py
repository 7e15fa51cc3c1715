"""``procession sql`` without a prompt, against a running coordinator: forms, exit codes, options, files."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def test_rows_as_presto_cli_prints_them(procession: Any, server: str, tmp_path: Path) -> None:
    """A file, and a configuration that names the server."""
    statements = tmp_path / "all.sql"
    statements.write_text(
        "-- a comment; not an end\nSELECT 'a \"b\", c' AS t, ARRAY[1, 2] AS l, NULL AS f;\nSELECT 2\\G\n"
    )
    config = tmp_path / "config"
    config.write_text(f"# mine\nserver={server}\nsession=query_priority=3\nsession=join_distribution_type=BROADCAST\n")
    done = procession("sql", "-f", str(statements), env=os.environ | {"TRINO_CONFIG": str(config)})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == '"a ""b"", c","[1, 2]",""\n-[ RECORD 1 ]\n_col0 | 2\n'


def test_json_is_an_object_a_row(procession: Any, server: str) -> None:
    statement = "SELECT * FROM (VALUES (1, 'ä'), (2, NULL)) AS t (n, s)"
    done = procession("sql", "--server", server, "-e", statement, "--output-format", "json")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"n": 1, "s": "ä"}, {"n": 2, "s": None}]


def test_a_terminal_without_utf_8_shows_what_it_cannot(procession: Any, server: str) -> None:
    statement = "SELECT 'ä' AS a, 1 AS n"
    done = procession("sql", "--server", server, "-e", statement, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stdout, done.stderr) == (0, '"\\xe4","1"\n', "")


def test_statements_from_standard_input_share_a_session(procession: Any, server: str) -> None:
    text = "SET SESSION eager_plan_validation_enabled = false;\n\\ds eager_plan\nSHOW SESSION;"
    done = procession("sql", "--server", server, "--session", "query_priority=7", input=text)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SET SESSION\n")
    values = {row[0]: row[1] for row in csv.reader(io.StringIO(done.stdout)) if len(row) > 1}
    assert (values["eager_plan_validation_enabled"], values["query_priority"]) == ("false", "7")


def test_a_failed_statement_stops_the_rest(procession: Any, server: str) -> None:
    done = procession("sql", f"{server}/tpch/tiny", "-e", "SELECT count(*) FROM nation;\nSELECT\n  nope; SELECT 2")
    assert (done.returncode, done.stdout) == (1, '"25"\n')
    assert done.stderr.endswith("failed: line 2:3: Column 'nope' cannot be resolved\nLINE 2:   nope\n          ^\n")
    done = procession("sql", server, "--ignore-errors", "-e", "SELECT nope; SELECT 2; SHOW TABLES FROM nowhere.s")
    assert (done.returncode, done.stdout) == (1, '"2"\n')
    assert "Catalog 'nowhere' does not exist" in done.stderr


def test_what_the_server_is_given(procession: Any, server: str) -> None:
    import httpx

    text = "SELECT :'word' AS w, current_timezone() AS z /* given */"
    options = ("--user", "ada", "--source", "nightly", "--client-tags", "a,b", "--client-info", "why")
    done = procession("sql", server, *options, "--timezone", "Asia/Tokyo", "--variable", "word=it's", "-e", text)
    assert done.stdout == '"it\'s","Asia/Tokyo"\n', done.stderr
    [query] = [
        q for q in httpx.get(f"{server}/v1/query", timeout=60).json() if "given" in q["query"] and "it''s" in q["query"]
    ]
    session = httpx.get(f"{server}/v1/query/{query['queryId']}", timeout=60).json()["session"]
    assert (session["user"], session["source"], session["clientInfo"]) == ("ada", "nightly", "why")
    assert sorted(session["clientTags"]) == ["a", "b"]


def test_what_no_header_can_carry_and_a_reader_that_leaves(procession: Any, server: str, tmp_path: Path) -> None:
    done = procession("sql", server, "--user", "jürgen", "-e", "SELECT 1")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "'\\xfc' cannot be sent: names in headers are ASCII, statements are UTF-8\n"
    itself = tmp_path / "itself.sql"
    itself.write_text(f"\ufeffSELECT 'once';\n\\i {itself}\n")
    done = procession("sql", server, "-f", str(itself))
    assert (done.returncode, done.stdout) == (1, '"once"\n' * 17)
    assert done.stderr.count("\n") == 1
    program = "import sys; sys.exit(len(sys.stdin.readline()))"
    command = f"{sys.executable} -m coordinator sql {server}/tpch/tiny -e 'SELECT * FROM lineitem'"
    piped = f"{command} | {sys.executable} -c '{program}'; exit ${{PIPESTATUS[0]}}"
    left = subprocess.run(["bash", "-c", piped], capture_output=True, text=True, timeout=60, check=False)
    assert (left.returncode, left.stderr) == (0, "")


def test_no_server_is_one_line(procession: Any) -> None:
    done = procession("sql", "--server", "http://127.0.0.1:1", "-e", "SELECT 1")
    assert done.returncode == 2
    assert done.stderr.startswith("procession: no answer from http://127.0.0.1:1: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--session", "nothing"), "--session takes NAME=VALUE, not nothing"),
        (("--server", "ftp://x"), "ftp://x is no address"),
        (("--client-request-timeout", "soon"), "--client-request-timeout takes a time such as 2m or 30s, not soon"),
        (("-e", "SELECT 1", "-f", "x.sql"), "--execute and --file do not go together"),
        (("-f", "/nowhere/x.sql"), "/nowhere/x.sql cannot be read"),
        (("-e", "SELECT '\udcff'"), "--execute is no text in UTF-8"),
    ],
)
def test_wrong_options_are_one_line(warm_procession: Any, arguments: tuple[str, ...], why: str) -> None:
    done = warm_procession("sql", *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"procession: {why}")
