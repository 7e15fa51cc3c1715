"""``iceberg.catalog.type=hive``: PyIceberg's catalog with commits and connections of our own.

What a commit does beyond PyIceberg's: its lock outlives no broken connection, the metastore itself compares where the
table was, an answer that is lost is looked for, and the parameters are those of Iceberg's Java library.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from hive_metastore.ThriftHiveMetastore import Client
from hive_metastore.ttypes import (
    EnvironmentContext,
    InvalidObjectException,
    NoSuchObjectException,
)
from hive_metastore.ttypes import Table as HiveTable
from pyiceberg.catalog import LOCATION, MetastoreCatalog
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.table import CommitTableResponse, StagedTable, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from thrift.Thrift import TException
from thrift.transport.TTransport import TTransportException

from coordinator.connectors.iceberg.failures import NotCommittedError
from coordinator.connectors.iceberg.metastores.hive_connections import HiveConnections
from coordinator.connectors.iceberg.metastores.hive_locks import TableLock
from coordinator.connectors.iceberg.metastores.hive_tables import describe, new_hive_table
from coordinator.connectors.iceberg.metastores.outcomes import landed
from coordinator.connectors.iceberg.metastores.table_kinds import check_iceberg
from shared.errors import ErrorCode

TIMEOUT = "hive.metastore-timeout"
"""Of one answer, in seconds; a property of the catalog."""
_LOCK_PATIENCE_SECONDS = 60.0
_NO_LOCK = "engine.hive.lock-enabled"
_MODIFIED = "The table has been modified"


class HiveMetastoreCatalog(HiveCatalog):
    """Thread-safe; making one connects to nothing. Raises PyIceberg's exceptions, TException and ProcessionError."""

    lock_patience_seconds = _LOCK_PATIENCE_SECONDS

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self._connections = HiveConnections(properties["uri"].split(","), float(properties.get(TIMEOUT, "10")))
        self._client = self._connections  # type: ignore[assignment]  # which PyIceberg's methods open as well

    def metadata_location(self, schema: str, name: str) -> str | None:
        """Where the table's metadata is, without reading it; None when there is no such table."""
        try:
            with self._client as client:
                found = self._get_hive_table(client, schema, name)
        except NoSuchTableError:
            return None
        check_iceberg(f"{schema}.{name}", found.parameters, found.tableType)
        return str(found.parameters["metadata_location"])

    def other_tables(self, schema: str) -> list[str]:
        """Tables and views in the schema that are not Iceberg tables, sorted."""
        with self._client as client:
            every = client.get_all_tables(schema)
        return sorted(set(every) - {identifier[-1] for identifier in self.list_tables(schema)})

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Raises CommitFailedException, NotCommittedError or NoSuchTableError when nothing landed, and
        CommitStateUnknownException when nobody knows."""
        database, name = self.identifier_to_database_and_table(table.name(), NoSuchTableError)
        lock = TableLock(self._connections, database, name, self.lock_patience_seconds)
        locked = table.metadata.properties.get(_NO_LOCK, "true").lower() != "false"
        with _nothing_sent(f"{database}.{name}"), lock.held() if locked else nullcontext() as number:
            before, current = self._current(database, name)
            staged = self._update_and_stage_table(current, table.name(), requirements, updates)
            if current is not None and staged.metadata == current.metadata:
                return _answer(current)
            self._write_metadata(staged.metadata, staged.io, staged.metadata_location)
            if number is not None:
                lock.ensure_held(number)
            with self._client as client:
                self._send(client, before, current, staged)
        return _answer(staged)

    def _current(self, database: str, name: str) -> tuple[HiveTable | None, Table | None]:
        try:
            with self._client as client:
                before = self._get_hive_table(client, database, name)
        except NoSuchTableError:
            return None, None
        return before, self._convert_hive_into_iceberg(before)

    def _send(self, client: Client, before: HiveTable | None, current: Table | None, staged: StagedTable) -> None:
        """Swap the metadata file; whatever is answered, tell whether it landed."""
        database, name = self.identifier_to_database_and_table(staged.name())
        if before is None or current is None:
            self._create_hive_table(client, self._convert_iceberg_into_hive(staged))
            return
        describe(before, staged.metadata, staged.metadata_location, (current.metadata, current.metadata_location))
        # From Hive 2.3.10 and 4.0 on the metastore compares by itself; those between ignore the question.
        asked = {
            "DO_NOT_UPDATE_STATS": "true",
            "expected_parameter_key": "metadata_location",
            "expected_parameter_value": current.metadata_location,
        }
        try:
            client.alter_table_with_environment_context(database, name, before, EnvironmentContext(asked))
        except TException as error:
            self._settle(database, name, staged.metadata_location, error)

    def _create_hive_table(self, open_client: Client, hive_table: HiveTable) -> None:
        try:
            super()._create_hive_table(open_client, hive_table)
        except (NoSuchObjectException, InvalidObjectException) as error:  # which it is differs between metastores
            raise NoSuchNamespaceError(f"Database {hive_table.dbName} does not exist") from error
        except TException as error:
            location = hive_table.parameters["metadata_location"]
            self._settle(hive_table.dbName, hive_table.tableName, location, error)

    def _settle(self, database: str, name: str, location: str, error: TException) -> None:
        """Returns when the commit landed after all. A metastore that answered has nothing left to carry out."""
        found = landed(lambda: self.load_table((database, name)), location)
        if found:
            return
        if found is None or isinstance(error, TTransportException):
            raise CommitStateUnknownException(f"the metastore did not answer: {error}") from error
        if _MODIFIED in str(error):
            raise CommitFailedException(f"Table {database}.{name} was changed meanwhile") from error
        message = f"The metastore refused the commit to {database}.{name}: {getattr(error, 'message', error)}"
        raise NotCommittedError(ErrorCode.HIVE_METASTORE_ERROR, message) from error

    def _convert_hive_into_iceberg(self, table: HiveTable) -> Table:
        check_iceberg(f"{table.dbName}.{table.tableName}", table.parameters, table.tableType)
        return super()._convert_hive_into_iceberg(table)

    def _convert_iceberg_into_hive(self, table: Table) -> HiveTable:
        database, name = self.identifier_to_database_and_table(table.name(), NoSuchTableError)
        return new_hive_table(database, name, table.metadata, table.metadata_location)

    def purge_table(self, identifier: str | Identifier) -> None:
        """As the other catalogs do; PyIceberg's refuses."""
        MetastoreCatalog.purge_table(self, identifier)

    def rename_table(self, from_identifier: str | Identifier, to_identifier: str | Identifier) -> Table:
        """Of Iceberg tables alone, and told apart from a schema that is not there."""
        self.load_table(from_identifier)
        database, name = self.identifier_to_database_and_table(to_identifier)
        with self._client as client:
            if name in client.get_tables(database, name):
                raise TableAlreadyExistsError(f"Table already exists: {database}.{name}")
        try:
            return super().rename_table(from_identifier, to_identifier)
        except NoSuchNamespaceError as error:
            if "already exists" in str(error.__cause__):
                raise TableAlreadyExistsError(f"Table already exists: {database}.{name}") from error
            raise

    def create_namespace(self, namespace: str | Identifier, properties: Properties = EMPTY_DICT) -> None:
        """In the catalog's warehouse, where it has one; else the metastore takes its own."""
        warehouse, name = self.properties.get("warehouse"), self.identifier_to_database(namespace)
        place = {} if warehouse is None else {LOCATION: f"{warehouse.rstrip('/')}/{name}.db"}
        super().create_namespace(namespace, {**place, **properties})


def _answer(table: Table) -> CommitTableResponse:
    return CommitTableResponse.model_validate(
        {"metadata": table.metadata, "metadata-location": table.metadata_location}
    )


@contextmanager
def _nothing_sent(table: str) -> Iterator[None]:
    """What fails before the swap is sent has certainly not been committed."""
    try:
        yield
    except TException as error:
        message = f"The metastore cannot be asked to commit to {table}: {error}"
        raise NotCommittedError(ErrorCode.HIVE_METASTORE_ERROR, message) from error
