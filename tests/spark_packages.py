"""One class path for every embedded Spark of the tests: a single archive of classes serves them all.

A start takes half the CPU time with it (`spark.class-archive`), and making one takes as much as three starts.
"""

from coordinator.connectors.iceberg.object_stores import GOOGLE, S3
from coordinator.connectors.jdbc.dialects import DIALECTS
from coordinator.engine.spark.settings import DEFAULT_PACKAGES

_DATABASES = ("mariadb", "sqlserver", "oracle", "db2")  # PostgreSQL's driver is among the default ones
PACKAGES = (*DEFAULT_PACKAGES, S3.package, GOOGLE.package, *(DIALECTS[name].driver_package for name in _DATABASES))
