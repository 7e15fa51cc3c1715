"""Where the Open Policy Agent is that says who may do what."""

from __future__ import annotations

from pydantic import Field

from coordinator.values.settings import Seconds, Settings


class OpaSettings(Settings):
    """etc/access-control.properties of access-control.name=opa"""

    policy_uri: str = Field(
        alias="opa.policy.uri",
        pattern="https?://.+",
        description="The policy's decision, such as http://localhost:8181/v1/data/trino/allow. Required for `opa`.",
    )
    batched_uri: str | None = Field(
        None,
        alias="opa.policy.batched-uri",
        pattern="https?://.+",
        description="A policy that filters lists at one request; without it each object is a request.",
    )
    row_filters_uri: str | None = Field(
        None, alias="opa.policy.row-filters-uri", pattern="https?://.+", description="A policy that gives row filters."
    )
    column_masking_uri: str | None = Field(
        None,
        alias="opa.policy.column-masking-uri",
        pattern="https?://.+",
        description="A policy that gives a column's mask.",
    )
    batch_column_masking_uri: str | None = Field(
        None,
        alias="opa.policy.batch-column-masking-uri",
        pattern="https?://.+",
        description="A policy that gives the masks of a table's columns at one request; this or the one before.",
    )
    timeout: Seconds = Field(
        5.0,
        alias="opa.http-client.request-timeout",
        gt=0,
        description="How long an answer may take; without one the statement is refused.",
    )
    log_requests: bool = Field(False, alias="opa.log-requests", description="Log what is asked.")
    log_responses: bool = Field(False, alias="opa.log-responses", description="Log what is answered.")
    allow_permission_management: bool = Field(
        False,
        alias="opa.allow-permission-management-operations",
        description="Allows roles and grants without asking; otherwise they are refused, as in Trino.",
    )
