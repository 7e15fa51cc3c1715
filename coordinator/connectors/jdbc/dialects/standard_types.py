"""The types that every database has alike; a dialect names only those that differ."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

from coordinator.connectors.jdbc.dialects.dialect import MappedType


def standard_type(type_: TypeEngine[object]) -> MappedType | None:
    """The Presto type of a column; None for types that Presto does not have."""
    match type_:
        case sa.BOOLEAN():
            return MappedType("boolean")
        case sa.SMALLINT():
            return MappedType("smallint")
        case sa.BIGINT():
            return MappedType("bigint")
        case sa.INTEGER():
            return MappedType("integer")
        case sa.REAL():
            return MappedType("real")
        case sa.Double():
            return MappedType("double")
        case sa.DATE():
            return MappedType("date")
        case sa.CHAR() | sa.NCHAR():
            return MappedType(f"char({type_.length or 1})")
        case sa.Text():
            return MappedType("varchar")
        case sa.String():
            return MappedType("varchar" if type_.length is None else f"varchar({type_.length})")
        case sa.types._Binary():
            return MappedType("varbinary")
        case _:
            return None


def decimal(precision: int | None, scale: int | None, most: int) -> MappedType | None:
    """None where Presto's decimals do not hold it, or the column has no bound."""
    scale = scale or 0
    fits = precision is not None and precision <= most and 0 <= scale <= precision
    return MappedType(f"decimal({precision},{scale})") if fits else None
