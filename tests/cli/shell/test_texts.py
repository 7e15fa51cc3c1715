"""Ends of statements, variables, places of errors, amounts, options and what a client keeps of a session."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import httpx
import pytest

from coordinator.cli.client import ClientSession, StatementClient
from coordinator.cli.shell import amounts, connecting
from coordinator.cli.shell.config_file import ConfigFileError, config_file, read_defaults
from coordinator.cli.shell.connecting import OptionError
from coordinator.cli.shell.failures import marked
from coordinator.cli.shell.keywords import KEYWORDS
from coordinator.cli.shell.output_format import OutputFormat
from coordinator.cli.shell.pager import pager_command
from coordinator.cli.shell.runner import FAILED, Display
from coordinator.cli.shell.shell import Shell
from coordinator.cli.shell.splitter import Typed, inputs, is_blank, split_statements
from coordinator.cli.shell.variables import substituted
from shared.protocol.statement import Location

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT 1;", ["SELECT 1"], ""),
        ("SELECT ';' ; SELECT \";\";", ["SELECT ';'", 'SELECT ";"'], ""),
        ("SELECT 'it''s; fine';x", ["SELECT 'it''s; fine'"], "x"),
        ("SELECT 1 -- no; end\n;", ["SELECT 1 -- no; end"], ""),
        ("/* ; */ SELECT 1;", ["/* ; */ SELECT 1"], ""),
        ("SELECT 'open;", [], "SELECT 'open;"),
        ("SELECT '\\G;", [], "SELECT '\\G;"),
        (";;  ;", [], ""),
        ("-- only a comment\n;", [], ""),
    ],
)
def test_statements_end_at_semicolons_outside_quotes(text: str, statements: list[str], rest: str) -> None:
    assert split_statements(text) == (statements, rest)


def test_commands_and_other_ends() -> None:
    text = "\\d t\nSELECT 1\\G SELECT 2 \\watch 0.5\n\\x on\n\\g\nSELECT"
    expected = [
        Typed("\\d t", ""),
        Typed("SELECT 1", "\\G"),
        Typed("SELECT 2", "\\watch 0.5"),
        Typed("\\x on", ""),
        Typed("", "\\g"),
    ]
    assert inputs(text) == (expected, "SELECT")


def test_blank_text() -> None:
    assert is_blank("  -- x\n /* y; */ ")
    assert not is_blank("/* y */ z")


def test_variables_stand_outside_of_texts() -> None:
    values = {"n": "3", "who": "O'Brien", "t": 'a"b'}
    text = "SELECT :n, :'who', :\"t\", ':n', x::n, :other -- :n\n/* :n */ FROM a:n"
    expected = "SELECT 3, 'O''Brien', \"a\"\"b\", ':n', x::n, :other -- :n\n/* :n */ FROM a:n"
    assert substituted(text, values) == expected


@pytest.mark.parametrize(
    ("statement", "line", "column", "expected"),
    [
        ("SELECT nope", 1, 8, "LINE 1: SELECT nope\n               ^\n"),
        ("SELECT\n\tnope, x", 2, 2, "LINE 2:     nope, x\n            ^\n"),
        ("SELECT '日本', x", 1, 14, "LINE 1: SELECT '日本', x\n                       ^\n"),
        ("SELECT (", 1, 9, "LINE 1: SELECT ( <EOF>\n                ^\n"),
        ("SELECT 1", 7, 1, ""),
        (f"SELECT {'a, ' * 99}nope", 1, 305, f"LINE 1: ...{'a, ' * 9}nope\n{' ' * 38}^\n"),
        (f"SELECT '{'日' * 60}', nope", 1, 72, f"LINE 1: ...{'日' * 12}', nope\n{' ' * 38}^\n"),
        (f"SELECT nope, '{'日' * 60}'", 1, 8, f"LINE 1: SELECT nope, '{'日' * 27}...\n{' ' * 15}^\n"),
        ("SELECT '\x1b[31m', x", 1, 17, "LINE 1: SELECT '\\x1b[31m', x\n                           ^\n"),
    ],
)
def test_a_caret_stands_under_the_place(statement: str, line: int, column: int, expected: str) -> None:
    assert marked(statement, Location(line, column), 80) == expected


def test_amounts_have_three_digits() -> None:
    counts = (0, 999, 1234, 12_345, 6_001_215, 1e18)
    assert [amounts.count(n) for n in counts] == ["0", "999", "1.23K", "12.3K", "6M", "1000Q"]
    assert [amounts.size(n) for n in (0, 560e6, 41_120_000)] == ["0B", "560MB", "41.1MB"]
    assert [amounts.duration(n) for n in (0.123, 59.9, 67)] == ["0.12", "59.90", "1:07"]


def test_addresses() -> None:
    assert connecting.address("localhost:8080") == ("http://localhost:8080", None, None)
    assert connecting.address("https://h/lake/db%20x") == ("https://h", "lake", "db x")
    assert connecting.address("http://[::1]:80/lake") == ("http://[::1]:80", "lake", None)
    for wrong in ("http://h:x", "http://", "h/a/b/c"):
        with pytest.raises(OptionError):
            connecting.address(wrong)
    assert [connecting.seconds("--t", t) for t in ("2m", "1.5s", "100ms")] == [120.0, 1.5, 0.1]


def test_a_configuration_file(tmp_path: Path) -> None:
    file = tmp_path / ".procession_config"
    assert config_file({}, tmp_path) is None
    file.write_text("# comment\n\ncatalog = lake\ndebug\nsession=a=1\nsession=b=x=y\n")
    assert config_file({}, tmp_path) == file
    assert config_file({"PRESTO_CONFIG": "/else"}, tmp_path) == Path("/else")
    options = {"catalog": False, "debug": True, "session": False}
    expected = {"catalog": "lake", "debug": "true", "session": ["a=1", "b=x=y"]}
    assert read_defaults(file, options, ("session",)) == expected
    file.write_text("catalog=lake\ncatalogue=x\n")
    with pytest.raises(ConfigFileError, match=r"config:2: there is no option --catalogue"):
        read_defaults(file, options, ())


def test_the_pager_is_found(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("")
    tool.chmod(0o755)
    assert pager_command(f"{tool} -a 'b c'", {}) == (str(tool), "-a", "b c")
    assert pager_command(None, {"PAGER": str(tool)}) == (str(tool),)
    assert pager_command("", {"PAGER": str(tool)}) == ()
    assert pager_command("no-such-pager-anywhere", {}) == ()


def test_keywords_are_the_grammars() -> None:
    """Each word is one that the parser asks for by name."""
    text = " ".join(file.read_text() for file in (ROOT / "coordinator" / "sql").rglob("*.py"))
    assert set(KEYWORDS) - set(re.findall(r"\b[A-Z_]+\b", text)) == set()


def test_a_session_follows_the_answers() -> None:
    session = ClientSession("tester", "lake")
    changed = session.changed_by(
        httpx.Headers(
            [
                ("X-Presto-Set-Catalog", "other"),
                ("X-Presto-Set-Schema", "db"),
                ("X-Presto-Set-Session", "a=1%2C2"),
                ("X-Presto-Set-Session", "b=x"),
                ("X-Presto-Set-Role", "lake=ROLE%7Badmin%7D"),
                ("X-Presto-Added-Prepare", "p=SELECT%201"),
                ("X-Presto-Started-Transaction-Id", "t1"),
            ]
        )
    )
    assert (changed.catalog, changed.schema, changed.transaction_id) == ("other", "db", "t1")
    assert changed.properties == {"a": "1,2", "b": "x"}
    sent = changed.headers()
    assert sent["X-Presto-Session"] == "a=1%2C2,b=x"
    assert sent["X-Presto-Role"] == "lake=ROLE%7Badmin%7D"
    assert sent["X-Presto-Prepared-Statement"] == "p=SELECT%201"
    ended = changed.changed_by(
        httpx.Headers(
            [
                ("X-Presto-Clear-Session", "a"),
                ("X-Presto-Deallocated-Prepare", "p"),
                ("X-Presto-Clear-Transaction-Id", "true"),
            ]
        )
    )
    assert ended.properties == {"b": "x"}
    assert ended.prepared == {}
    assert ended.headers()["X-Presto-Transaction-Id"] == "NONE"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("\\c", "it is \\c CATALOG[.SCHEMA]: use a schema"),
        ("\\i", "it is \\i FILE: run the statements of a file"),
        ("\\timing maybe", "it is \\timing [on|off]: time of every statement, seen from here"),
        ("\\nope now", "\\nope now is no command; \\? lists them"),
        ("SELECT 1 \\watch 99999999999999999999", "\\watch takes at most 10,000,000 seconds"),
        ("SELECT 1 \\watch 1.2.3", "\\watch takes seconds, not 1.2.3"),
    ],
)
def test_what_a_command_takes_is_said(typed: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    client = StatementClient("http://nowhere.invalid", ClientSession("tester"))
    shell = Shell(client, Display(OutputFormat.ALIGNED), sys.stdout)
    assert shell.run_all(typed) == FAILED
    assert capsys.readouterr().err == f"procession: {said}\n"
