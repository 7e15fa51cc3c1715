"""Settings of the life cycle."""

from __future__ import annotations

from pydantic import Field

from coordinator.values.machine import machine_memory
from coordinator.values.settings import Bytes, Seconds, Settings


class DispatchSettings(Settings):
    """A query's life, in seconds, bytes and counts. What etc/config.properties says, and constants:

    - ``max_tracked``: past it even a query younger than ``min_expire_age`` is forgotten.
    - ``max_buffer_size`` bounds the encoded rows of one query that wait in memory for a client.
    - ``patience``: how long the engine's thread waits past it before it writes to files what its client does not read.
    - ``max_stored_of_query``: of those files; past it the engine's thread waits for its client.
    - ``keep_free``: of the volume with those files.
    - ``stalled_after``: an engine that waits this long for its client does not hold a slot meanwhile.
    - ``fresh_plan_age``: a plan that waited longer is made again if its tables have changed meanwhile.
    - ``chunk_rows``, ``chunk_size``: how finely batches are cut, hence how closely pages meet the asked size;
      ``arrow_…``: the same of a message in an Arrow stream.
    """

    max_query_length: int = Field(
        1_000_000,
        alias="query.max-length",
        ge=1,
        le=1_000_000_000,
        description="Longest text of a statement in characters; a longer one fails with QUERY_TEXT_TOO_LARGE.",
    )
    client_timeout: Seconds = Field(
        300.0,
        alias="query.client.timeout",
        gt=0,
        description="A query that no client polls for this long is abandoned.",
    )
    min_expire_age: Seconds = Field(
        900.0, alias="query.min-expire-age", gt=0, description="How long a finished query stays visible."
    )
    max_history: int = Field(
        100,
        alias="query.max-history",
        ge=0,
        description="How many finished queries stay visible for longer than query.min-expire-age.",
    )
    max_run_time: Seconds = Field(
        100 * 86400.0,
        alias="query.max-run-time",
        gt=0,
        description="A query that runs longer fails with EXCEEDED_TIME_LIMIT.",
    )
    max_replay_size: Bytes = Field(
        64 << 20,
        alias="query.max-replay-size",
        ge=0,
        description="Size of the last pages that are kept, over all ended queries, for clients whose answer was"
        " lost and who ask again. The newest page is kept whatever its size.",
    )
    max_buffered: Bytes | None = Field(
        None,
        alias="query.max-total-buffered-bytes",
        ge=1,
        description="Size of the rows that wait in memory for clients, over all queries; beyond it they wait in files"
        " below `node.data-dir`. By default 1 % of the memory, at least 64 MB and at most 1 GB: clients read pages of"
        " 1 MB, and what waits for longer than a page does not need memory.",
    )
    max_stored: Bytes = Field(
        10 << 30,
        alias="query.max-total-stored-bytes",
        ge=0,
        description="Size of the rows that wait in those files, over all queries; one query takes at most 2 GB of it,"
        " and 1 GB of the volume stays free. Beyond it engines wait for the clients. `0B`: no files. Rows that clients"
        " send in bulk (docs/flight-sql.md) wait there too, as many as fit.",
    )
    max_run_again: int = Field(
        1,
        alias="query.max-run-again",
        ge=0,
        le=10,
        description="How often a query that only reads and has delivered no row is run again by itself when Spark,"
        " or a task of it, is lost. More than once is risky: a query that itself brings Spark down"
        " would do so each time.",
    )
    nested_data_serialization: bool = Field(
        False,
        alias="nested-data-serialization-enabled",
        description="Send arrays, maps and rows as text, as Presto does by default, instead of as JSON.",
    )
    eager_validation: bool = Field(
        True,
        alias="eager-plan-validation-enabled",
        description="Plan and check a statement before it queues; session property eager_plan_validation_enabled.",
    )
    max_unpolled: int = Field(
        1_000,
        alias="query.max-unpolled-per-user",
        ge=1,
        description="How many statements a user may have sent without asking for the first result, which starts them;"
        " more fail with QUERY_QUEUE_FULL.",
    )
    max_unpolled_size: Bytes = Field(
        64 << 20,
        alias="query.max-unpolled-size-per-user",
        ge=1 << 20,
        description="Size of the texts of these statements, likewise.",
    )
    spooling: bool = Field(
        False,
        alias="protocol.spooling.enabled",
        description="Give clients of Trino's that ask for it results in compressed segments (docs/protocol.md).",
    )
    inlined_rows: int = Field(
        1_000,
        alias="protocol.spooling.inlining.max-rows",
        ge=0,
        description="A segment with at most so many rows stands in its page. `0`: all are fetched apart.",
    )
    inlined_size: Bytes = Field(
        128 << 10,
        alias="protocol.spooling.inlining.max-size",
        ge=0,
        description="Size of such a segment at most.",
    )
    segment_size: Bytes = Field(
        8 << 20,
        alias="protocol.spooling.max-segment-size",
        ge=64 << 10,
        le=128 << 20,
        description="Size of the rows in a segment before they are compressed, about.",
    )
    segment_time: Seconds = Field(
        3600.0,
        alias="protocol.spooling.segment-ttl",
        gt=0,
        description="How long a segment can be fetched that its client does not acknowledge.",
    )
    max_tracked: int = 10_000
    max_buffer_size: int = 32 << 20
    patience: float = 0.5
    max_stored_of_query: int = 2 << 30
    keep_free: int = 1 << 30
    stalled_after: float = 2.0
    chunk_rows: int = 2_000
    chunk_size: int = 256 << 10
    arrow_chunk_rows: int = 65_536
    arrow_chunk_size: int = 2 << 20
    fresh_plan_age: float = 0.05
    sweep_interval: float = 1.0

    def buffered_bytes(self) -> int:
        """``max_buffered``, by default a part of the memory."""
        if self.max_buffered is not None:
            return self.max_buffered
        return min(1 << 30, max(64 << 20, (machine_memory() or 0) // 100))
