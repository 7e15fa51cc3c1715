"""What a table may say: its properties are anybody's word, and never choose code, hosts or credentials.

Names that may be set are those of Iceberg's ``TableProperties`` that describe data, and those which the catalog file
allows. What metadata says beyond that (of registered tables, of other writers) stays in the metadata: PyIceberg's
FileIO hears the catalog alone, location providers are Iceberg's own, and Spark is not given a table that names others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.table import Table, locations
from pyiceberg.typedef import EMPTY_DICT, Properties

from coordinator.connectors.iceberg.storage import EXACT_FILE_IO
from shared.errors import ErrorCode, ProcessionError

ALLOWED = "iceberg.allowed-extra-properties"
_CODE = re.compile(r"(^|[.-])impl$|[.-]class(-name)?$", re.IGNORECASE)
_NEVER = re.compile(
    r"^(s3|s3a|gcs|gs|adls|abfs|oss|hdfs|hf|glue|dynamodb|client|http|https|fs|hadoop|spark|rest|oauth2|header|aws|io)[.-]"
    r"|^(uri|url|warehouse|type|token|credential|credentials|auth|endpoint|signer)([.-]|$)"
    r"|secret|password|credential|access-key|token|endpoint|proxy|kms",
    re.IGNORECASE,
)
_OF_ICEBERG = frozenset(
    {
        *("comment", "owner", "gc.enabled", "schema.name-mapping.default", "write.format.default"),
        *("write.delete.format.default", "write.target-file-size-bytes", "write.delete.target-file-size-bytes"),
        *("write.delete.granularity", "write.distribution-mode", "write.wap.enabled", "write.upsert.enabled"),
        *("write.spark.fanout.enabled", "write.spark.accept-any-schema", "write.spark.advisory-partition-size-bytes"),
        *("write.summary.partition-limit", "write.manifest-lists.enabled", "write.data.path", "write.metadata.path"),
        *("write.object-storage.enabled", "write.object-storage.partitioned-paths", "write.object-storage.path"),
        *("write.folder-storage.path", "write.metadata.compression-codec", "write.metadata.previous-versions-max"),
        *("write.metadata.delete-after-commit.enabled", "read.data-planning-mode", "read.delete-planning-mode"),
        *("engine.hive.enabled", "engine.hive.lock-enabled", "compatibility.snapshot-id-inheritance.enabled"),
        *("format-version", "write.parquet.write-order"),
    }
)
_FAMILIES = (
    *("commit.retry.", "commit.status-check.", "commit.manifest.", "commit.manifest-merge.", "history.expire."),
    *(
        "write.parquet.",
        "write.delete.parquet.",
        "write.avro.",
        "write.delete.avro.",
        "write.orc.",
        "write.delete.orc.",
    ),
    *("write.metadata.metrics.", "read.split.", "read.parquet.", "read.orc.", "read.stream."),
    *("write.delete.", "write.update.", "write.merge."),
)
_PROVIDER = "write.location-provider.impl"
_OF_HADOOP = ("parquet.", "orc.", "hadoop.", "fs.")
"""Iceberg's Java writers put all properties of a table into Hadoop's configuration, whose readers load classes."""
KNOWN_FILE_IO = frozenset({EXACT_FILE_IO, "pyiceberg.io.pyarrow.PyArrowFileIO", "pyiceberg.io.fsspec.FsspecFileIO"})
_OF_CATALOG = ("py-io-impl", "s3.retry-strategy-impl")
"""Where PyIceberg imports a name that it was given."""


def check_settable(names: Iterable[str], extra: Iterable[str] = ()) -> None:
    """Raises INVALID_TABLE_PROPERTY for a property that statements and calls may not set.

    ``extra`` is the catalog's ``iceberg.allowed-extra-properties``: names, ``prefix.*`` or ``*``.
    """
    allowed = tuple(extra)
    for name in names:
        if not is_settable(name, allowed):
            hint = "" if is_dangerous(name) else f"; the catalog's {ALLOWED} can allow it"
            raise ProcessionError(ErrorCode.INVALID_TABLE_PROPERTY, f"Property {name} cannot be set{hint}")


def is_settable(name: str, extra: Iterable[str]) -> bool:
    """Whether statements and calls may set the property."""
    if name in _OF_ICEBERG or name.startswith(_FAMILIES):  # of which some end with the name of a column
        return True
    return not is_dangerous(name) and any(_matches(pattern, name) for pattern in extra)


def is_dangerous(name: str) -> bool:
    """Whether the name chooses code, a host or credentials for some reader of tables."""
    return _CODE.search(name) is not None or _NEVER.search(name) is not None


def _matches(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def check_for_spark(table: Table) -> Table:
    """Spark would load the class that a table names; raises PERMISSION_DENIED for one that does."""
    for name in table.properties:
        if name == _PROVIDER or (name.startswith(_OF_HADOOP) and _CODE.search(name)):
            subject = ".".join(table.name())
            message = f"Access Denied: Table {subject} names code of its own: remove its property {name}"
            raise ProcessionError(ErrorCode.PERMISSION_DENIED, message)
    return table


def names_code(name: str) -> bool:
    """Whether PyIceberg imports what a property of the name holds."""
    return name in _OF_CATALOG


def distrust_tables(catalog: Catalog) -> Catalog:
    """Let the catalog alone tell its FileIO what to do."""
    patched: Any = locations
    patched._import_location_provider = _refused_provider
    if not isinstance(catalog, RestCatalog):  # ours reads the server's words itself

        def of_catalog(properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
            del properties  # the table's
            return load_file_io(catalog.properties, location)

        patched = catalog
        patched._load_file_io = of_catalog
    return catalog


def _refused_provider(_name: str, location: str, properties: Properties) -> locations.LocationProvider:
    """In place of a class that a table names: Iceberg's own layout."""
    plain = {k: v for k, v in properties.items() if k != "write.py-location-provider.impl"}
    return locations.load_location_provider(location, plain)
