"""``iceberg.catalog.type=glue``: PyIceberg's catalog with limits of time, and with commits whose answer may be lost.

boto3 sends a request again when no answer came. The second one is then refused because the first was carried out:
PyIceberg takes that for a lost race, and the files of a commit that landed would be taken away.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from pyiceberg.catalog import BOTOCORE_SESSION
from pyiceberg.catalog.glue import GLUE_MAX_RETRIES, GlueCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.table import Table

from coordinator.connectors.iceberg.failures import NotCommittedError
from coordinator.connectors.iceberg.metastores.outcomes import landed
from coordinator.connectors.iceberg.metastores.table_kinds import check_iceberg
from shared.errors import ErrorCode

if TYPE_CHECKING:
    from mypy_boto3_glue.type_defs import TableInputTypeDef, TableTypeDef

_CONNECT_SECONDS, _ANSWER_SECONDS, _REPEATS = 5, 30, 3
_SERVER_ERRORS = 500


class GlueDataCatalog(GlueCatalog):
    """Thread-safe. Raises PyIceberg's exceptions, botocore's and ProcessionError."""

    def __init__(self, name: str, **properties: str) -> None:
        session = botocore.session.Session()
        session.set_default_client_config(Config(connect_timeout=_CONNECT_SECONDS, read_timeout=_ANSWER_SECONDS))
        # PyIceberg gives boto3 the number of repeats as it is, and boto3 takes no text.
        own: dict[str, object] = {GLUE_MAX_RETRIES: _REPEATS, BOTOCORE_SESSION: session}
        super().__init__(name, **properties, **own)
        for name_of_own in own:
            self.properties.pop(name_of_own)  # every FileIO would get it

    def metadata_location(self, schema: str, name: str) -> str | None:
        """Where the table's metadata is, without reading it; None when there is no such table."""
        try:
            found = self._get_glue_table(schema, name)
        except NoSuchTableError:
            return None
        check_iceberg(f"{schema}.{name}", found.get("Parameters"), found.get("TableType"))
        return str(found["Parameters"]["metadata_location"])

    def other_tables(self, schema: str) -> list[str]:
        """Tables and views in the schema that are not Iceberg tables, sorted."""
        pages = self.glue.get_paginator("get_tables").paginate(DatabaseName=schema)
        every = {table["Name"] for page in pages for table in page["TableList"]}
        return sorted(every - {identifier[-1] for identifier in self.list_tables(schema)})

    def _convert_glue_to_iceberg(self, glue_table: TableTypeDef) -> Table:
        name = f"{glue_table.get('DatabaseName')}.{glue_table.get('Name')}"
        check_iceberg(name, glue_table.get("Parameters"), glue_table.get("TableType"))
        return super()._convert_glue_to_iceberg(glue_table)

    def _create_glue_table(self, database_name: str, table_name: str, table_input: TableInputTypeDef) -> None:
        with self._settled(database_name, table_name, table_input):
            super()._create_glue_table(database_name, table_name, table_input)

    def _update_glue_table(
        self, database_name: str, table_name: str, table_input: TableInputTypeDef, version_id: str
    ) -> None:
        with self._settled(database_name, table_name, table_input):
            super()._update_glue_table(database_name, table_name, table_input, version_id)

    @contextmanager
    def _settled(self, database: str, name: str, sent: Any) -> Iterator[None]:
        """Leaves without an error when the change landed after all; else says whether it may still have."""
        try:
            yield
        except (CommitFailedException, TableAlreadyExistsError, ClientError, BotoCoreError) as error:
            found = landed(lambda: self.load_table((database, name)), sent["Parameters"]["metadata_location"])
            if found:
                return
            if isinstance(error, (CommitFailedException, TableAlreadyExistsError)):
                if found is None:
                    raise CommitStateUnknownException(f"Glue cannot be asked: {error}") from error
                raise
            if isinstance(error, BotoCoreError) or found is None or _status(error) >= _SERVER_ERRORS:
                raise CommitStateUnknownException(f"Glue did not answer: {error}") from error
            message = f"Glue refused the commit to {database}.{name}: {error}"
            raise NotCommittedError(ErrorCode.HIVE_METASTORE_ERROR, message) from error


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", _SERVER_ERRORS))
