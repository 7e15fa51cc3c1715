"""What clients are told of a statement's kind.

CLIs and JDBC drivers of both families show the rows of a statement only if it has no ``updateType``: with one they
read the rows and print a count. So a CALL is told as a query is, for its rows are what it is for. Sources: Query
and Statement of presto-cli, presto-jdbc, trino-cli and trino-jdbc.
"""

from __future__ import annotations

from coordinator.vocabulary.planned_statement import PlannedStatement


def update_type(planned: PlannedStatement) -> str | None:
    """The ``updateType`` of QueryResults."""
    return None if planned.update_type == "CALL" else planned.update_type
