"""Rows in every form, against the texts that presto-cli and trino-cli print for them."""

from __future__ import annotations

import io
import json

import msgspec
import pytest

from coordinator.cli.answers import Column
from coordinator.cli.shell.formats import RowPrinter
from coordinator.cli.shell.output_format import OutputFormat

VARCHAR = {"rawType": "varchar", "arguments": [{"kind": "LONG", "value": 10}]}
BIGINT = {"rawType": "bigint", "arguments": []}


def decoded(name: str, signature: dict[str, object]) -> Column:
    return msgspec.json.decode(json.dumps({"name": name, "typeSignature": signature}), type=Column)


ARRAY_OF_BYTES = {"rawType": "array", "arguments": [{"kind": "TYPE", "value": {"rawType": "varbinary"}}]}
TRINO_ROW = {
    "rawType": "row",
    "arguments": [
        {"kind": "NAMED_TYPE", "value": {"fieldName": {"name": "p"}, "typeSignature": BIGINT}},
        {"kind": "NAMED_TYPE", "value": {"typeSignature": ARRAY_OF_BYTES}},
    ],
}
PRESTO_ROW = {
    "rawType": "row",
    "typeArguments": [BIGINT, ARRAY_OF_BYTES],
    "arguments": [
        {"kind": "NAMED_TYPE_SIGNATURE", "value": {"fieldName": {"name": "p"}, "typeSignature": "bigint"}},
        {"kind": "NAMED_TYPE_SIGNATURE", "value": {"typeSignature": "array(varbinary)"}},
    ],
}
COLUMNS = (decoded("first", VARCHAR), decoded("last", VARCHAR), decoded("quantity", BIGINT))
ROWS = [("hello", "world", 123), ("a", None, 4.5), ('some "text"', "two\nlines\t!", -9)]


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(form: OutputFormat, columns: tuple[Column, ...] = COLUMNS, rows: object = ROWS, width: int = 80) -> str:
    output = io.StringIO()
    printer = RowPrinter(output, form, width)
    printer.add(columns, rows)  # type: ignore[arg-type]
    printer.finish()
    return output.getvalue()


ALIGNED = (
    "    first    |    last    | quantity \n"
    "-------------+------------+----------\n"
    " hello       | world      |      123 \n"
    " a           | NULL       |      4.5 \n"
    ' some "text" | two       +|       -9 \n'
    "             | lines\\x09! |          \n"
    "(3 rows)\n"
)
VERTICAL = """\
-[ RECORD 1 ]---------
first    | hello
last     | world
quantity | 123
-[ RECORD 2 ]---------
first    | a
last     | NULL
quantity | 4.5
-[ RECORD 3 ]---------
first    | some "text"
last     | two
         | lines\\x09!
quantity | -9
"""
CSV = '"hello","world","123"\n"a","","4.5"\n"some ""text""","two\nlines\t!","-9"\n'
UNQUOTED = 'hello,world,123\na,,4.5\nsome "text",two\nlines\t!,-9\n'
TSV = 'hello\tworld\t123\na\t\t4.5\nsome "text"\ttwo\\nlines\\t!\t-9\n'


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (OutputFormat.ALIGNED, ALIGNED),
        (OutputFormat.VERTICAL, VERTICAL),
        (OutputFormat.CSV, CSV),
        (OutputFormat.CSV_HEADER, '"first","last","quantity"\n' + CSV),
        (OutputFormat.CSV_UNQUOTED, UNQUOTED),
        (OutputFormat.CSV_HEADER_UNQUOTED, "first,last,quantity\n" + UNQUOTED),
        (OutputFormat.TSV, TSV),
        (OutputFormat.TSV_HEADER, "first\tlast\tquantity\n" + TSV),
        (OutputFormat.NULL, ""),
    ],
)
def test_forms(form: OutputFormat, expected: str) -> None:
    assert printed(form) == expected


def test_json_and_markdown() -> None:
    names = [c.name for c in COLUMNS]
    lines = printed(OutputFormat.JSON).splitlines()
    assert [json.loads(line) for line in lines] == [dict(zip(names, row, strict=True)) for row in ROWS]
    assert lines[0] == '{"first":"hello","last":"world","quantity":123}'
    assert printed(OutputFormat.MARKDOWN).splitlines()[-1].split("|")[2].strip() == "two<br>lines\\\\x09\\!"
    simple = printed(OutputFormat.MARKDOWN, COLUMNS[1:], [("a|b", 1)])
    assert simple == "| last | quantity |\n| ---- | --------:|\n| a\\|b |        1 |\n"


def test_auto_is_vertical_where_a_table_is_too_wide() -> None:
    assert printed(OutputFormat.AUTO, width=37) == ALIGNED
    assert printed(OutputFormat.AUTO, width=36) == VERTICAL


@pytest.mark.parametrize("row", [TRINO_ROW, PRESTO_ROW])
def test_nested_values_are_written_as_in_java(row: dict[str, object]) -> None:
    entries = {"rawType": "map", "arguments": [{"kind": "TYPE", "value": VARCHAR}, {"kind": "TYPE", "value": BIGINT}]}
    columns = (decoded("r", row), decoded("m", entries), decoded("b", {"rawType": "varbinary"}))
    rows = [([1, ["AP8=", None]], {"k": None, "l": 2}, "AAECAwQFBgcICQoLDA0ODxA=")]
    dump = "00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f"
    assert printed(OutputFormat.CSV, columns, rows) == f'"{{p=1, [00 ff, NULL]}}","{{k=NULL, l=2}}","{dump} 10"\n'
    assert f"| {dump}\n" in printed(OutputFormat.VERTICAL, columns, rows)


def test_wide_characters_and_long_results() -> None:
    assert printed(OutputFormat.ALIGNED, COLUMNS[:1], [("日本",)]) == " first \n-------\n 日本  \n(1 row)\n"
    assert printed(OutputFormat.ALIGNED, COLUMNS[:1], []) == " first \n-------\n(0 rows)\n"
    assert printed(OutputFormat.VERTICAL, COLUMNS[:1], []) == "(no rows)\n"
    many = printed(OutputFormat.ALIGNED, COLUMNS[2:], [(n,) for n in range(2500)])
    assert many.count("quantity") == 1
    assert many.endswith("(2500 rows)\n")


def test_a_value_does_not_steer_the_terminal() -> None:
    screen = Screen()
    printer = RowPrinter(screen, OutputFormat.TSV)
    printer.add(COLUMNS[:2], [("\x1b[2J", "\u009b31m")])
    printer.finish()
    assert screen.getvalue() == "\\x1b[2J\t\\x9b31m\n"


def test_a_value_does_not_turn_the_order_of_a_row() -> None:
    shown = printed(OutputFormat.ALIGNED, COLUMNS[:1], [("a\u202eb\u2028c",)])
    assert "a\\u202eb\\u2028c" in shown
