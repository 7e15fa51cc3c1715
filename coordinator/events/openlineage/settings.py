"""Properties of the listener ``openlineage``: those of Presto's and Trino's."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from coordinator.values.settings import Names, Seconds, Settings

DEFAULT_TYPES = ("DELETE", "INSERT", "MERGE", "UPDATE", "CALL_DISTRIBUTED_PROCEDURE")
Scheme = Literal["presto", "trino"]


class OpenLineageSettings(Settings):
    """etc/event-listener.properties with event-listener.name=openlineage"""

    presto_uri: str | None = Field(
        None,
        alias="openlineage-event-listener.presto.uri",
        pattern=r"https?://.+",
        description="This service in the names of jobs and tables, `presto://host:port`; its own address by default.",
    )
    trino_uri: str | None = Field(
        None,
        alias="openlineage-event-listener.trino.uri",
        pattern=r"https?://.+",
        description="The same for names as Trino's listener gives them, `trino://host:port`.",
    )
    presto_types: Names = Field(
        DEFAULT_TYPES,
        alias="openlineage-event-listener.presto.include-query-types",
        description="Types of statements that are told of; SELECT and DATA_DEFINITION are not by default.",
    )
    trino_types: Names | None = Field(
        None,
        alias="openlineage-event-listener.trino.include-query-types",
        description="The same under Trino's name; ALTER_TABLE_EXECUTE means CALL_DISTRIBUTED_PROCEDURE.",
    )
    disabled_facets: Names = Field(
        (),
        alias="openlineage-event-listener.disabled-facets",
        description="Facets to leave out: `presto_metadata`, `presto_query_context`, `presto_query_statistics`"
        " (or `trino_…`).",
    )
    namespace: str | None = Field(
        None, alias="openlineage-event-listener.namespace", description="Namespace of jobs, in place of the address."
    )
    job_name: str = Field(
        "$QUERY_ID",
        alias="openlineage-event-listener.job.name-format",
        description="Name of the job; `$QUERY_ID`, `$USER`, `$SOURCE` and `$CLIENT_IP` are replaced.",
    )
    transport: Literal["CONSOLE", "HTTP", "console", "http"] = Field(
        "CONSOLE",
        alias="openlineage-event-listener.transport.type",
        description="`CONSOLE` writes events into the log, `HTTP` sends them.",
    )
    url: str | None = Field(
        None,
        alias="openlineage-event-listener.transport.url",
        pattern=r"https?://.+",
        description="Address of the lineage service.",
    )
    endpoint: str = Field(
        "/api/v1/lineage",
        alias="openlineage-event-listener.transport.endpoint",
        description="Path under it.",
    )
    api_key: str | None = Field(
        None, alias="openlineage-event-listener.transport.api-key", description="Sent as a bearer token."
    )
    timeout: Seconds = Field(
        5.0, alias="openlineage-event-listener.transport.timeout", gt=0, description="How long a request may take."
    )
    headers: Names = Field(
        (), alias="openlineage-event-listener.transport.headers", description="More headers, `Name:value,Name:value`."
    )
    url_params: Names = Field(
        (),
        alias="openlineage-event-listener.transport.url-params",
        description="Parameters of the address, `name:value,name:value`.",
    )
    compression: Literal["none", "gzip"] = Field(
        "none", alias="openlineage-event-listener.transport.compression", description="`none` or `gzip`."
    )

    @property
    def scheme(self) -> Scheme:
        return "presto" if self.trino_uri is None else "trino"

    @property
    def types(self) -> frozenset[str]:
        named = self.presto_types if self.trino_types is None else self.trino_types
        return frozenset("CALL_DISTRIBUTED_PROCEDURE" if name == "ALTER_TABLE_EXECUTE" else name for name in named)
