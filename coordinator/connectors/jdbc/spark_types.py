"""What Presto's types are to Spark when it reads a database."""

from __future__ import annotations

from shared.plan.types import parse_type
from shared.spi.relation import JdbcRelation

_NAMES = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "integer": "INT",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp with time zone": "TIMESTAMP",
    "varbinary": "BINARY",
}


def spark_schema(relation: JdbcRelation) -> str:
    """The columns of ``relation`` as Spark's DDL; all that is no number, moment or bytes is text."""
    columns = zip(relation.columns, relation.types, strict=True)
    return ", ".join(f"`{name.replace('`', '``')}` {_spark_type(type_)}" for name, type_ in columns)


def _spark_type(presto: str) -> str:
    type_ = parse_type(presto)
    if type_.base == "decimal":
        return f"DECIMAL({type_.numbers[0]},{type_.numbers[1]})"
    return _NAMES.get(type_.base, "STRING")
