"""Settings of the Flight SQL server."""

from __future__ import annotations

from pydantic import Field

from coordinator.values.settings import Bytes, Settings


class FlightSettings(Settings):
    """What etc/config.properties says of it, and constants (bytes, seconds, counts).

    - ``message_size``: of any other message from a client, filled in from the longest statement.
    - ``receive_timeout``: within which a client that has called sends all its messages.
    - ``prepared_of_user``, ``prepared_idle``: prepared statements that are kept, and for how long unused.
    - ``parameter_rows``: rows of parameters that one update may bring; each runs a statement.
    """

    port: int | None = Field(
        None,
        alias="flight-sql.port",
        ge=0,
        le=65535,
        description="Port for Arrow Flight SQL (docs/flight-sql.md), on the address of http-server.http.host; with TLS"
        " where http-server.https.enabled is set. 0 takes a free one. Without it there is none.",
    )
    max_calls: int = Field(
        200,
        alias="flight-sql.max-concurrent-calls",
        ge=1,
        le=10_000,
        description="How many calls of Flight SQL may be open at the same time, streams of results among them; one"
        " more is refused with RESOURCE_EXHAUSTED.",
    )
    rows_size: Bytes = Field(
        32 << 20,
        alias="flight-sql.max-batch-size",
        ge=1 << 20,
        le=1 << 30,
        description="Size of one batch of the rows that a client sends in bulk; a statement at work holds a few of"
        " them in memory. Clients send larger tables in several batches.",
    )
    message_size: int = 8 << 20
    receive_timeout: float = 60.0
    prepared_of_user: int = 200
    prepared_idle: float = 3600.0
    parameter_rows: int = 1_000
