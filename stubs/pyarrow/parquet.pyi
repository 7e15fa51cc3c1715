from collections.abc import Iterator, Sequence
from typing import Any, Self

from pyarrow import RecordBatch, Schema, Table

class Statistics:
    has_min_max: bool
    has_null_count: bool
    min: Any
    max: Any
    null_count: Any  # None where it is not written
    num_values: int
    physical_type: str

class ColumnChunkMetaData:
    path_in_schema: str
    physical_type: str
    encodings: tuple[str, ...]
    compression: str
    num_values: int
    statistics: Statistics | None
    is_stats_set: bool
    has_dictionary_page: bool
    has_offset_index: bool
    has_column_index: bool
    dictionary_page_offset: int
    data_page_offset: int
    total_compressed_size: int
    total_uncompressed_size: int

class RowGroupMetaData:
    num_rows: int
    num_columns: int
    total_byte_size: int
    def column(self, index: int) -> ColumnChunkMetaData: ...

class ColumnSchema:
    name: str
    path: str
    physical_type: str
    logical_type: Any
    max_definition_level: int
    max_repetition_level: int

class ParquetSchema:
    names: list[str]
    def column(self, index: int) -> ColumnSchema: ...
    def to_arrow_schema(self) -> Schema: ...
    def __len__(self) -> int: ...

class FileMetaData:
    num_rows: int
    num_row_groups: int
    num_columns: int
    serialized_size: int
    created_by: str
    metadata: dict[bytes, bytes] | None
    schema: ParquetSchema
    def row_group(self, index: int) -> RowGroupMetaData: ...

class ParquetFile:
    metadata: FileMetaData
    schema: ParquetSchema
    schema_arrow: Schema
    num_row_groups: int
    def __init__(
        self,
        source: object,
        *,
        metadata: FileMetaData | None = None,
        read_dictionary: Sequence[str] | None = None,
        memory_map: bool = False,
        buffer_size: int = 0,
        pre_buffer: bool = False,
        page_checksum_verification: bool = False,
        arrow_extensions_enabled: bool = False,
        **options: object,
    ) -> None: ...
    def read(self, columns: Sequence[str] | None = None, use_threads: bool = True) -> Table: ...
    def read_row_group(self, index: int, columns: Sequence[str] | None = None, use_threads: bool = True) -> Table: ...
    def read_row_groups(
        self, row_groups: Sequence[int], columns: Sequence[str] | None = None, use_threads: bool = True
    ) -> Table: ...
    def iter_batches(
        self,
        batch_size: int = 65536,
        row_groups: Sequence[int] | None = None,
        columns: Sequence[str] | None = None,
        use_threads: bool = True,
    ) -> Iterator[RecordBatch]: ...
    def close(self, force: bool = False) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *arguments: object) -> None: ...

class ParquetWriter:
    def __init__(self, where: object, schema: Schema, **options: Any) -> None: ...
    def write_table(self, table: Table, row_group_size: int | None = None) -> None: ...
    def write_batch(self, batch: RecordBatch, row_group_size: int | None = None) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *arguments: object) -> None: ...

def read_metadata(where: object, memory_map: bool = False) -> FileMetaData: ...
def read_schema(where: object) -> Schema: ...
def read_table(source: object, columns: Sequence[str] | None = None, **options: object) -> Table: ...
def write_table(table: Table, where: object, **options: object) -> None: ...
