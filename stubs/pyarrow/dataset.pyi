from collections.abc import Iterator, Sequence

from pyarrow import RecordBatch, Schema, Table

class Dataset:
    schema: Schema
    def to_table(self, columns: Sequence[str] | None = None) -> Table: ...
    def to_batches(self, columns: Sequence[str] | None = None) -> Iterator[RecordBatch]: ...

def dataset(source: object, schema: Schema | None = None, format: str | None = None) -> Dataset: ...
