"""Listings over all catalogs, one of which is out of reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from coordinator.connectors.system.listing import Listing, Names
from coordinator.connectors.system.wanted import Wanted
from shared.errors import ErrorCode, ProcessionError

_NAMES = Names("table_cat", "table_schem", "table_name")


class OneAway:
    """``down`` fails with an error of the wanted code."""

    def __init__(self, code: ErrorCode) -> None:
        self.code = code

    def names(self) -> tuple[str, ...]:
        return ("down", "up")

    def schemas(self, catalog: str) -> Sequence[str]:
        if catalog == "down":
            raise ProcessionError(self.code, "Catalog down: connection refused")
        return ("s",)

    def schema_exists(self, catalog: str, schema: str) -> bool:
        return schema in self.schemas(catalog)

    def tables(self, catalog: str, schema: str) -> Sequence[str]:
        return ("t",)


def listing(code: ErrorCode = ErrorCode.JDBC_ERROR, only: str | None = None) -> Listing:
    return Listing(cast("Any", OneAway(code)), only)


def named(**exact: str) -> Wanted:
    of = {column: (lambda found, value=value: found == value,) for column, value in exact.items()}
    return Wanted(of, {column: frozenset({value}) for column, value in exact.items()})


def test_the_rest_is_listed() -> None:
    assert list(listing().schemas(Wanted(), _NAMES)) == [("up", "s")]
    assert list(listing().tables(named(table_schem="s"), _NAMES)) == [("up", "s", "t")]


def test_who_names_the_catalog_is_told() -> None:
    for each, wanted in ((listing(), named(table_cat="down")), (listing(only="down"), Wanted())):
        with pytest.raises(ProcessionError, match="connection refused"):
            list(each.schemas(wanted, _NAMES))


def test_a_defect_is_not_passed_over() -> None:
    with pytest.raises(ProcessionError):
        list(listing(ErrorCode.GENERIC_INTERNAL_ERROR).schemas(Wanted(), _NAMES))
