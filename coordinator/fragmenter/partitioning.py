"""Presto's system partitioning handles and the schemes made of them."""

from __future__ import annotations

from collections.abc import Sequence

from shared.plan.expressions import Variable
from shared.plan.nodes import Partitioning, PartitioningHandle, PartitioningScheme

COLUMNAR = "COLUMNAR"


def system_handle(partitioning: str, function: str) -> PartitioningHandle:
    """A handle of the system itself, ``$remote``."""
    return PartitioningHandle(connectorHandle={"@type": "$remote", "partitioning": partitioning, "function": function})


SINGLE = system_handle("SINGLE", "SINGLE")
COORDINATOR = system_handle("COORDINATOR_ONLY", "SINGLE")
FIXED_HASH = system_handle("FIXED", "HASH")
FIXED_BROADCAST = system_handle("FIXED", "BROADCAST")
SOURCE = system_handle("SOURCE", "UNKNOWN")
ALL_WORKERS = system_handle("ALL_WORKERS", "UNKNOWN")
"""ALL_WORKERS_DISTRIBUTION of RFC-0021: one task on every worker."""


def scheme(
    handle: PartitioningHandle, layout: Sequence[Variable], arguments: Sequence[Variable] = ()
) -> PartitioningScheme:
    """How the rows of ``layout`` leave a fragment, with the fields that Presto always sends."""
    return PartitioningScheme(
        partitioning=Partitioning(handle=handle, arguments=tuple(arguments)),
        outputLayout=tuple(layout),
        replicateNullsAndAny=False,
        scaleWriters=False,
        encoding=COLUMNAR,
    )
