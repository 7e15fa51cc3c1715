"""Inputs of one statement as temporary views of the session, for as long as the statement runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import DataFrame
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator.engine.inputs import FormatInput, KernelsInput, SparkInput
from coordinator.engine.local_inputs import ArrowInput
from coordinator.engine.spark.workers import streamed


@contextlib.contextmanager
def views_over(inputs: Sequence[SparkInput]) -> Iterator[Callable[[SparkSession], SparkSession]]:
    """A function that puts the views into a session; they are gone when the context ends."""
    made: list[tuple[SparkSession, str]] = []

    def view(session: SparkSession) -> SparkSession:
        for wanted in inputs:
            _frame(session, wanted).createOrReplaceTempView(wanted.name)
            made.append((session, wanted.name))
        return session

    try:
        yield view
    finally:
        for session, name in made:
            # A session that was lost took its views along.
            with contextlib.suppress(Exception):
                session.catalog.dropTempView(name)


def _frame(session: SparkSession, wanted: SparkInput) -> DataFrame:
    match wanted:
        case ArrowInput(rows=rows):
            return session.createDataFrame(rows.to_table() if isinstance(rows, ds.Dataset) else pa.table(rows))
        case KernelsInput(schema=schema, parts=parts):
            if not parts:
                return session.createDataFrame(schema.empty_table())
            return streamed("scan_part:batches", parts, from_arrow_schema(schema, prefer_timestamp_ntz=True))(session)
        case FormatInput(format=kind, paths=paths, options=options):
            reader = session.read.format(kind).options(**options)
            return reader.load(list(paths)) if paths else reader.load()
        case _:
            assert_never(wanted)
