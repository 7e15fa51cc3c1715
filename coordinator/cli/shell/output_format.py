"""Names of the forms that rows are printed in."""

from __future__ import annotations

from enum import StrEnum


class OutputFormat(StrEnum):
    """Presto's and Trino's names."""

    ALIGNED = "ALIGNED"
    VERTICAL = "VERTICAL"
    AUTO = "AUTO"
    CSV = "CSV"
    CSV_HEADER = "CSV_HEADER"
    CSV_UNQUOTED = "CSV_UNQUOTED"
    CSV_HEADER_UNQUOTED = "CSV_HEADER_UNQUOTED"
    TSV = "TSV"
    TSV_HEADER = "TSV_HEADER"
    JSON = "JSON"
    MARKDOWN = "MARKDOWN"
    NULL = "NULL"
