"""Presto type text, parsed and printed."""

from __future__ import annotations

import pytest

from shared.plan.types import Field, Type, parse_type


@pytest.mark.parametrize(
    "text",
    [
        "bigint",
        "varchar",
        "varchar(25)",
        "decimal(12,2)",
        "array(varchar(25))",
        "map(varchar(1),array(bigint))",
        "row(x bigint,y varchar)",
        "row(bigint,double)",
        'row(x bigint,"Y z" double)',
        "timestamp with time zone",
        "interval day to second",
        "array(timestamp with time zone)",
        "row(a timestamp with time zone,b interval year to month)",
        "function(integer,varchar(1),boolean)",
    ],
)
def test_text_survives(text: str) -> None:
    assert str(parse_type(text)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("INT", "integer"),
        ("varchar(2147483647)", "varchar"),
        ("Array( BIGINT )", "array(bigint)"),
        ("timestamp(3) with time zone", "timestamp with time zone(3)"),
        ("double precision", "double"),
    ],
)
def test_spellings(text: str, canonical: str) -> None:
    assert str(parse_type(text)) == canonical


def test_parts() -> None:
    parsed = parse_type("row(a decimal(10,2),map(varchar,bigint))")
    assert parsed.fields == (
        Field("a", Type("decimal", (10, 2))),
        Field(None, Type("map", (Type("varchar"), Type("bigint")))),
    )
    assert parsed.arguments[0].numbers == (10, 2)


@pytest.mark.parametrize(
    "text", ["", "array(", "array(bigint", "row(a bigint", "bigint)", 'row("a bigint)', "(bigint)"]
)
def test_broken_text(text: str) -> None:
    with pytest.raises(ValueError, match="Unknown type"):
        parse_type(text)
