"""The dialects in which a view is kept."""

from __future__ import annotations

import pytest

from coordinator.connectors.iceberg.views.representations import SPARK, TRINO, representations
from shared.spi.connector import ViewMetadata


def kept(definition: str) -> dict[str, str]:
    view = ViewMetadata("lake", "db", "v", definition, (), "lake", "db", "owner")
    return {each.root.dialect: each.root.sql for each in representations(view)}


@pytest.mark.parametrize(
    ("before", "after", "in_spark"),
    [("ARRAY[", "]", "ARRAY("), ("ROW(", ")", "STRUCT("), ("abs(", ")", "ABS("), ("(", ")", "(")],
)
def test_views_that_nest_are_kept(before: str, after: str, in_spark: str) -> None:
    """sqlglot takes twice the time for each array or row in another: of eighty a view was never made."""
    definition = f"SELECT {before * 5}1{after * 5} x"
    assert kept(definition)[SPARK].count(in_spark) == 5
    deep = f"SELECT {before * 80}1{after * 80} x"
    texts = kept(deep)
    assert texts[TRINO] == deep
    assert (SPARK in texts) == (before in ("abs(", "("))


@pytest.mark.parametrize("aside", ["']', ", '"]", ', "/* ] */ ", "-- ]\n", "')' , "])
@pytest.mark.parametrize("before", ["ARRAY[", "ROW(", "ROW /* ( */ (", "row\n("])
def test_what_stands_in_texts_closes_nothing(before: str, aside: str) -> None:
    after = "]" if before.endswith("[") else ")"
    assert SPARK not in kept(f"SELECT {(before + aside) * 40}1{after * 40} x")


def test_a_column_may_be_called_row() -> None:
    assert SPARK not in kept(f"SELECT row, {'ARRAY[' * 40}1{']' * 40}, (1) FROM (VALUES 1) t(row)")
    assert SPARK in kept("SELECT row, ARRAY[1], (1) FROM (VALUES 1) t(row)")
