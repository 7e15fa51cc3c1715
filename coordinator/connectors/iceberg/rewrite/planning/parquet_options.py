"""What a table's properties say of its Parquet files, as the kernels take it.

Source: Iceberg 1.11, ``TableProperties``. Numbers that are none, or zero, are as if they were not
there. Kernels look at every batch, so that ``row-group-check-*`` have no meaning for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyiceberg.schema import Schema

from coordinator.connectors.iceberg.numbers import integer, whole_number
from coordinator.connectors.iceberg.rewrite.planning.bloom_filters import bloom_filters
from coordinator.kernels.tasks import Output
from shared.errors import ErrorCode, ProcessionError

_DATA, _DELETES = "write.parquet.", "write.delete.parquet."
_CODEC, _LEVEL = "compression-codec", "compression-level"
_ROW_GROUP = _DATA + "row-group-size-bytes"
_NO_STATISTICS = _DATA + "stats-enabled.column."
_DEFAULT_CODEC = "zstd"
_UNCOMPRESSED = ("none", "uncompressed")
_LEVELS = {"gzip": (1, 9), "brotli": (0, 11), "zstd": (1, 22)}
"""Codecs whose level Iceberg sets, with what pyarrow takes."""
_WRITTEN = (*_LEVELS, "snappy", "lz4", "lz4_raw")
_IN_MEMORY, _MOST_IN_MEMORY = 64 << 20, 256 << 20
"""Bytes of a row group in memory, and the most that a table may ask for: workers hold it as a whole."""
_SIZES = {"page-row-limit": "page_rows", "page-size-bytes": "page_bytes", "dict-size-bytes": "dictionary_bytes"}


def data_output(
    schema: Schema, properties: Mapping[str, str], directory: str, name: str, row_group_stored: int
) -> Output:
    """A data file; ``row_group_stored`` is the most that a row group takes of it."""
    made = Output(
        directory,
        name,
        row_group_stored=row_group_stored,
        bloom_filters=bloom_filters(schema, properties),
        without_statistics=_without_statistics(schema, properties),
        **_common(properties, _DATA),
    )
    asked = asked_row_group(properties)
    return made if asked is None else replace(made, row_group_bytes=max(_IN_MEMORY, min(asked, _MOST_IN_MEMORY)))


def delete_output(properties: Mapping[str, str], directory: str, name: str) -> Output:
    """A position delete file: what ``write.delete.parquet.*`` does not say is as in data files."""
    own = {_DATA + key.removeprefix(_DELETES): value for key, value in properties.items() if key.startswith(_DELETES)}
    return Output(directory, name, **_common({**properties, **own}, _DATA))


def asked_row_group(properties: Mapping[str, str]) -> int | None:
    """Bytes of a row group that the table asks for."""
    return whole_number(properties.get(_ROW_GROUP)) or None


def check_codec(properties: Mapping[str, str]) -> None:
    """Raise ProcessionError for a codec or a level that kernels cannot write."""
    asked = properties.get(_DATA + _CODEC, _DEFAULT_CODEC)
    codec = asked.lower()
    if codec in _UNCOMPRESSED:
        return
    if codec not in _WRITTEN:
        raise _invalid(_CODEC, asked, "uncompressed, zstd, gzip, snappy, lz4 or brotli")
    level = integer(properties.get(_DATA + _LEVEL))
    if codec in _LEVELS and level is not None:
        least, most = _LEVELS[codec]
        if not least <= level <= most:
            raise _invalid(_LEVEL, str(level), f"{least} to {most} for {codec}")


def _invalid(name: str, value: str, allowed: str) -> ProcessionError:
    message = f"Table property {_DATA}{name} is {value}, which cannot be written; {allowed} can"
    return ProcessionError(ErrorCode.INVALID_TABLE_PROPERTY, message)


def _common(properties: Mapping[str, str], prefix: str) -> dict[str, Any]:
    codec = properties.get(prefix + _CODEC, _DEFAULT_CODEC).lower()
    sizes = {field: whole_number(properties.get(prefix + name)) for name, field in _SIZES.items()}
    return {
        "codec": codec,
        "level": integer(properties.get(prefix + _LEVEL)) if codec in _LEVELS else None,
        "page_version": "2.0" if properties.get(prefix + "page-version", "").lower() == "v2" else "1.0",
        **{field: min(size, (1 << 31) - 1) for field, size in sizes.items() if size},
    }


def _without_statistics(schema: Schema, properties: Mapping[str, str]) -> list[int]:
    """Field ids of columns for which a table wants no minimum and maximum in its footers."""
    named = (k.removeprefix(_NO_STATISTICS) for k, v in properties.items() if k.startswith(_NO_STATISTICS))
    off = (name for name in named if properties[_NO_STATISTICS + name].lower() == "false")
    return sorted(schema.find_field(name).field_id for name in off if name in schema.column_names)
