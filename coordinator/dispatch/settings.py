"""Settings of the life cycle."""

from __future__ import annotations

from pydantic import Field

from coordinator.values.settings import Bytes, Seconds, Settings


class DispatchSettings(Settings):
    """A query's life, in seconds, bytes and counts. What etc/config.properties says, and constants:

    - ``max_tracked``: past it even a query younger than ``min_expire_age`` is forgotten.
    - ``max_buffer_size`` bounds the encoded rows that wait for a client; the engine's thread waits past it.
    - ``release_size``: a query whose engine has ended gives back its slot once no more than this many bytes wait.
    - ``max_unread_size``: over all queries; past it ended ones keep their slots until they are read.
    - ``fresh_plan_age``: a plan that waited longer is made again if its tables have changed meanwhile.
    - ``chunk_rows``, ``chunk_size``: how finely batches are cut, hence how closely pages meet the asked size.
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
    max_tracked: int = 10_000
    max_buffer_size: int = 32 << 20
    release_size: int = 1 << 20
    max_unread_size: int = 256 << 20
    chunk_rows: int = 2_000
    chunk_size: int = 256 << 10
    fresh_plan_age: float = 0.05
    sweep_interval: float = 1.0
