"""Settings of the life cycle; the composition root maps Presto's property names to them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DispatchSettings:
    """Seconds, bytes and counts.

    - ``max_query_length`` (query.max-length) counts characters.
    - ``client_timeout`` (query.client.timeout): a query not polled so long is abandoned, undelivered rows of a
      finished one are dropped.
    - ``min_expire_age`` (query.min-expire-age) and ``max_history`` (query.max-history): an ended query older than
      the first is forgotten once there are more than the second; past ``max_tracked`` even a younger one is.
    - ``max_buffer_size`` (sink.max-buffer-size) bounds the encoded rows that wait for a client; the engine's thread
      waits past it.
    - ``release_size``: a query whose engine has ended gives back its slot once no more than this many bytes wait.
    - ``max_unread_size``: over all queries; past it ended ones keep their slots until they are read.
    - ``max_replay_size`` (query.max-replay-size): bytes of last pages kept, over all queries, for clients that
      ask for one again.
    - ``eager_validation`` (eager-plan-validation-enabled): plan and check before queueing; otherwise after.
    - ``fresh_plan_age``: a plan that waited longer is made again if its tables have changed meanwhile.
    - ``max_run_time`` (query.max-run-time): a query that is older fails; the session may lower it.
    - ``max_run_again`` (query.max-run-again): how often a query that only reads and has delivered nothing is run again
      when its engine is lost.
    - ``chunk_rows``, ``chunk_size``: how finely batches are cut, hence how closely pages meet the asked size.
    - ``nested_data_serialization`` (nested-data-serialization-enabled): arrays, maps and rows as Presto's
      pretty-printed text instead of JSON.
    """

    max_query_length: int = 1_000_000
    client_timeout: float = 300.0
    min_expire_age: float = 900.0
    max_history: int = 100
    max_tracked: int = 10_000
    max_buffer_size: int = 32 << 20
    release_size: int = 1 << 20
    max_unread_size: int = 256 << 20
    max_replay_size: int = 64 << 20
    chunk_rows: int = 2_000
    chunk_size: int = 256 << 10
    nested_data_serialization: bool = False
    eager_validation: bool = True
    fresh_plan_age: float = 0.05
    max_run_time: float = 100 * 86400.0
    max_run_again: int = 1
    sweep_interval: float = 1.0
