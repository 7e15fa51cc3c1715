"""What makes tables fit the memory of those who write them: of many columns, and of many partitions.

Java's writer takes some eight bytes of heap for each byte of a dictionary that it has not given up yet, and by default
up to 2 MB of each column: 200 columns of texts that do not repeat take 3 GB for each task.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.schema import Schema, index_by_id
from pyiceberg.table import Table
from pyiceberg.types import DoubleType, FloatType, PrimitiveType, UUIDType

DICTIONARY = "write.parquet.dict-size-bytes"
_FANOUT = "write.spark.fanout.enabled"
_ALL_DICTIONARIES = 32 << 20
_DEFAULT = 1 << 20
"""From which size on a dictionary is left as it is: few tables have columns that all repeat so little."""
_LEAST = 16 << 10


def writer_properties(schema: Schema, given: Mapping[str, str]) -> dict[str, str]:
    """What a table with this schema needs beyond the properties that it is given."""
    leaves = sum(isinstance(schema.find_type(number), PrimitiveType) for number in schema.field_ids)
    size = max(_LEAST, _ALL_DICTIONARIES // max(leaves, 1))
    if size >= _DEFAULT or DICTIONARY in given or given.get("write.format.default", "parquet").lower() != "parquet":
        return {}
    return {DICTIONARY: str(size)}


def write_options(table: Table) -> str:
    """How Spark is to write into a table, behind the target's name in its INSERT.

    By default it sorts nothing where a table has no order, and has a file open for each partition that a task meets:
    32 files of 200 columns took 1.4 GB of heap for 300 MB of rows. Sorted by partition, one is open at a time. Not so
    where Spark sorts otherwise than Iceberg tells partitions apart, and fails: UUIDs are texts there, and 0.0 is -0.0.
    There a table with an order has a file open for each as well.
    """
    spec, columns = table.spec(), index_by_id(table.schema())
    sources = [columns[field.source_id].field_type for field in spec.fields if field.source_id in columns]
    unsorted = any(isinstance(source, FloatType | DoubleType | UUIDType) for source in sources)
    if spec.is_unpartitioned() or (not unsorted and _FANOUT in table.properties):
        return ""
    return f" WITH (`fanout-enabled` = '{str(unsorted).lower()}')"
