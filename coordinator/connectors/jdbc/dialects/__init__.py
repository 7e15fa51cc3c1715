"""What differs between databases, one file a database; ``DIALECTS`` is by ``connector.name``."""

from __future__ import annotations

from collections.abc import Mapping

from coordinator.connectors.jdbc.dialects.db2 import DB2
from coordinator.connectors.jdbc.dialects.dialect import Dialect
from coordinator.connectors.jdbc.dialects.mysql import MARIADB, MYSQL
from coordinator.connectors.jdbc.dialects.oracle import ORACLE
from coordinator.connectors.jdbc.dialects.postgresql import POSTGRESQL
from coordinator.connectors.jdbc.dialects.sqlserver import SQLSERVER

DIALECTS: Mapping[str, Dialect] = {d.name: d for d in (POSTGRESQL, MYSQL, MARIADB, SQLSERVER, ORACLE, DB2)}
