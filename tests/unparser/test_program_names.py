"""Programs in an engine's SQL, by name, whatever texts stand beside them."""

from __future__ import annotations

import json

import pytest
from sqlglot import exp

from coordinator.unparser.trees import call, text
from coordinator.values.program_names import program_names, programs


def sql(expression: object, dialect: str, kind: str = "eval") -> str:
    program = text(json.dumps({"columns": ["varchar"], "expression": expression}))
    return str(call(f"procession_{kind}_{b'varchar'.hex()}", program).sql(dialect=dialect))


COLUMN = ["column", 0]
CAST = ["cast", False, "varchar", "json", COLUMN]


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
@pytest.mark.parametrize(
    ("expression", "names"),
    [
        (CAST, "cast(varchar as json)"),
        (["call", "json_extract", "json", ["json", "jsonpath"], [CAST, ["cast", False, "varchar", "jsonpath", COLUMN]]],
         "cast(varchar as json), json_extract"),
        (["try", ["call", "$operator$negation", "bigint", [], [COLUMN]]], "negation, try"),
        (["call", "transform", "array(json)", [], [COLUMN, ["lambda", ["x"], CAST]]],
         "cast(varchar as json), transform"),
        (["call", "aggregate$approx_set", "hyperloglog", [], [COLUMN]], "approx_set"),
        (["form", "IF", "json", [COLUMN, CAST, ["constant", "it's \\ \"quoted\"", "varchar"]]],
         "cast(varchar as json)"),
        (["call", "$xx_hash_64", "bigint", [], [COLUMN]], ""),
    ],
)  # fmt: skip
def test_names(dialect: str, expression: object, names: str) -> None:
    found = sql(expression, dialect)
    assert program_names(found, dialect) == names
    assert len(programs(f"SELECT {found}, {found}", dialect)) == 1
    assert program_names(sql(expression, dialect, "rare"), dialect) == ""


@pytest.mark.parametrize("dialect", ["duckdb", "spark"])
def test_texts_that_look_like_programs_are_none(dialect: str) -> None:
    for said in (
        "procession_eval_00(",
        "procession_eval_00('{}'",
        "procession_eval_00('[1]')",
        "procession_eval_00(''')",
    ):
        assert program_names(f"SELECT {text(said).sql(dialect=dialect)}", dialect) == ""
    assert (
        program_names("SELECT procession_eval_00('[]'), procession_eval_00('1'), procession_eval_00('{')", dialect)
        == ""
    )


def test_what_takes_whole_columns_is_none() -> None:
    zoned = "timestamp with time zone"
    there = ["call", "at_timezone", zoned, [zoned, "varchar"], [COLUMN, ["constant", "Asia/Tokyo", "varchar"]]]
    for columns, result, expression, names in (
        ([zoned], "bigint", ["call", "hour", "bigint", [zoned], [there]], ("", "")),
        (["varchar"], "timestamp", ["try", ["call", "date_parse", "timestamp", ["varchar", "varchar"],
                                            [COLUMN, ["constant", "%Y", "varchar"]]]], ("date_parse, try", "")),
        (["varchar"], "varchar", ["call", "word_stem", "varchar", ["varchar"], [COLUMN]], ("word_stem", "word_stem")),
    ):  # fmt: skip
        program = text(json.dumps({"zone": "UTC", "columns": columns, "result": result, "expression": expression}))
        made = call(f"procession_eval_{b'x'.hex()}", program, exp.column("a"))
        assert tuple(program_names(made.sql(dialect=d), d) for d in ("duckdb", "spark")) == names


def test_many_are_counted() -> None:
    made = ", ".join(sql(["call", f"f{i}", "varchar", [], [COLUMN]], "duckdb") for i in range(10))
    assert program_names(made, "duckdb") == "f0, f1, f2, f3, f4, f5, f6, f7 and 2 more"
