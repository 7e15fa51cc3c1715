"""What Spark's reader gives of stored values, and what is made of it before anything is asked about it."""

from __future__ import annotations

import pytest

from coordinator.unparser.stored_json import is_shown_otherwise, shown_value, stored_json
from coordinator.unparser.trees import column
from shared.plan.types import parse_type


@pytest.mark.parametrize(
    ("type_text", "shown"),
    [
        ("varchar", "`c`"),
        ("array(varchar)", "`c`"),
        ("uuid", "LOWER(`c`)"),
        ("array(uuid)", "TRANSFORM(`c`, `$e0` -> LOWER(`$e0`))"),
        ("map(uuid, integer)", "TRANSFORM_VALUES(`c`, (`$k0`, `$v0`) -> `$v0`)"),
        (
            "row(a integer, u uuid)",
            "CASE WHEN (`c` IS NULL) THEN NULL ELSE NAMED_STRUCT('a', `c`.`a`, 'u', LOWER(`c`.`u`)) END",
        ),
    ],
)
def test_conditions_on_uuids_are_not_icebergs(type_text: str, shown: str) -> None:
    """Iceberg's take the halves of a UUID for signed numbers."""
    type_ = parse_type(type_text)
    assert shown_value(column("c"), type_).sql(dialect="spark").upper() == shown.upper()
    assert is_shown_otherwise(type_) is (shown != "`c`")


def test_only_json_is_written_otherwise() -> None:
    assert stored_json(column("c"), parse_type("uuid")).sql(dialect="spark") == "`c`"
    assert "parse_json" in stored_json(column("c"), parse_type("array(json)")).sql(dialect="spark").lower()
