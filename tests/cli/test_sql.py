"""``procession sql`` against a running coordinator."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def test_a_table(procession: Any, server: str) -> None:
    done = procession("sql", "--server", server, "--execute", "SELECT 1 AS a, 'x' AS b, CAST(NULL AS bigint) AS c")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == " a | b | c\n---+---+------\n 1 | x | NULL\n(1 row)\n"


def test_csv_is_read_back(procession: Any, server: str) -> None:
    statement = "SELECT 'a \"b\", c' AS t, ARRAY[1, 2] AS l, true AS f"
    done = procession("sql", "--server", server, "-e", statement, "--output-format", "csv")
    assert list(csv.reader(io.StringIO(done.stdout))) == [["t", "l", "f"], ['a "b", c', "[1, 2]", "true"]]


def test_json_is_an_object_a_row(procession: Any, server: str) -> None:
    statement = "SELECT * FROM (VALUES (1, 'ä'), (2, NULL)) AS t (n, s)"
    done = procession("sql", "--server", server, "-e", statement, "--output-format", "json")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"n": 1, "s": "ä"}, {"n": 2, "s": None}]


def test_statements_from_standard_input_share_a_session(procession: Any, server: str) -> None:
    text = "-- a comment; not an end\nSET SESSION eager_plan_validation_enabled = false;\nSHOW SESSION;"
    done = procession("sql", "--server", server, "--output-format", "csv", input=text)
    assert done.returncode == 0, done.stderr
    changed = [row for row in csv.reader(io.StringIO(done.stdout)) if row[0] == "eager_plan_validation_enabled"]
    assert changed
    assert changed[0][1] == "false"


def test_catalog_and_user_are_sent(procession: Any, server: str) -> None:
    done = procession("sql", "--server", server, "--catalog", "nope", "--schema", "s", "-e", "SHOW TABLES")
    assert done.returncode == 1
    assert "Catalog 'nope' does not exist" in done.stderr


def test_a_failed_statement_is_one_line_and_stops_the_rest(procession: Any, server: str) -> None:
    done = procession("sql", "--server", server, "-e", "SELECT nope; SELECT 2")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "failed: line 1:8: Column 'nope' cannot be resolved" in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_server_is_one_line(procession: Any) -> None:
    done = procession("sql", "--server", "http://127.0.0.1:1", "-e", "SELECT 1")
    assert done.returncode == 2
    assert done.stderr.startswith("procession: no answer from http://127.0.0.1:1: ")
    assert done.stderr.count("\n") == 1
