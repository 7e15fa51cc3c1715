"""Views of a SQL catalog, as Iceberg's JdbcCatalog (schema version V1) keeps them: rows of ``iceberg_tables`` whose
``iceberg_type`` is VIEW, each with the location of a metadata file. PyIceberg has none of it."""

from __future__ import annotations

import re
import uuid

from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchNamespaceError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from pyiceberg.view.metadata import ViewMetadata as IcebergView
from sqlalchemy import ColumnElement, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from coordinator.connectors.iceberg.maintenance.listing import walk
from coordinator.connectors.iceberg.manifests.metadata_files import read_raw
from coordinator.connectors.iceberg.opaque_types import parse_raw
from coordinator.connectors.iceberg.views.metadata import new_view, replaced, with_properties
from shared.spi.connector import ViewMetadata

_VIEW = "VIEW"
_OWN_FOLDER = re.compile(r"-[0-9a-f]{32}/metadata$")
_LOCATION = select(IcebergTables.metadata_location).where(
    IcebergTables.catalog_name == bindparam("catalog"),
    IcebergTables.table_namespace == bindparam("schema"),
    IcebergTables.table_name == bindparam("name"),
    IcebergTables.iceberg_type == _VIEW,
)


class SqlViews:
    """Views beside the tables of one SQL catalog."""

    def __init__(self, catalog: SqlCatalog) -> None:
        self._catalog = catalog

    def names(self, schema: str) -> list[str]:
        wanted = select(IcebergTables.table_name).where(
            IcebergTables.catalog_name == self._catalog.name,
            IcebergTables.table_namespace == schema,
            IcebergTables.iceberg_type == _VIEW,
        )
        with self._catalog.engine.connect() as connection:
            return sorted(connection.execute(wanted).scalars())

    def load(self, schema: str, name: str) -> IcebergView | None:
        location = self._location(schema, name)
        return None if location is None else self._read(location)

    def create(self, view: ViewMetadata) -> None:
        if not self._catalog.namespace_exists(view.schema):
            raise NoSuchNamespaceError(view.schema)
        base = self._catalog._resolve_table_location(None, view.schema, view.name)
        # A folder of its own: a table of the same name may have been here.
        metadata = new_view(view, f"{base}-{uuid.uuid4().hex}")
        location = self._write(metadata)
        row = {
            "catalog_name": self._catalog.name,
            "table_namespace": view.schema,
            "table_name": view.name,
            "metadata_location": location,
            "previous_metadata_location": None,
            "iceberg_type": _VIEW,
        }
        try:
            with self._catalog.engine.begin() as connection:
                connection.execute(insert(IcebergTables).values(**row))
        except IntegrityError as error:
            self._delete(location)
            if self._location(view.schema, view.name) is None:
                raise TableAlreadyExistsError(f"Table {view.schema}.{view.name} already exists") from error
            raise ViewAlreadyExistsError(f"View {view.schema}.{view.name} already exists") from error

    def replace(self, view: ViewMetadata) -> None:
        old = self._location(view.schema, view.name)
        if old is None:
            raise NoSuchViewError(f"View {view.schema}.{view.name} does not exist")
        self._commit(view, old, replaced(self._read(old), view))

    def set_properties(self, view: ViewMetadata, was: IcebergView) -> None:
        old = self._location(view.schema, view.name)
        if old is None:
            raise NoSuchViewError(f"View {view.schema}.{view.name} does not exist")
        if self._read(old) != was:
            raise CommitFailedException(f"view {view.schema}.{view.name} was changed by someone else meanwhile")
        self._commit(view, old, with_properties(was, view))

    def _commit(self, view: ViewMetadata, old: str, metadata: IcebergView) -> None:
        location = self._write(metadata)
        change = (
            update(IcebergTables)
            .where(*self._row(view.schema, view.name), IcebergTables.metadata_location == old)
            .values(metadata_location=location, previous_metadata_location=old)
        )
        with self._catalog.engine.begin() as connection:
            changed = connection.execute(change).rowcount
        if changed != 1:
            self._delete(location)
            raise CommitFailedException(f"view {view.schema}.{view.name} was changed by someone else meanwhile")

    def drop(self, schema: str, name: str) -> None:
        wanted = select(IcebergTables.metadata_location)
        with self._catalog.engine.begin() as connection:
            location = connection.execute(wanted.where(*self._row(schema, name))).scalar()
            if location is None:
                raise NoSuchViewError(f"View {schema}.{name} does not exist")
            connection.execute(delete(IcebergTables).where(*self._row(schema, name)))
        self._delete_all(location)

    def rename(self, schema: str, name: str, new_schema: str, new_name: str) -> None:
        if not self._catalog.namespace_exists(new_schema):
            raise NoSuchNamespaceError(new_schema)
        change = (
            update(IcebergTables)
            .where(*self._row(schema, name))
            .values(table_namespace=new_schema, table_name=new_name)
        )
        try:
            with self._catalog.engine.begin() as connection:
                if connection.execute(change).rowcount != 1:
                    raise NoSuchViewError(f"View {schema}.{name} does not exist")
        except IntegrityError as error:
            raise ViewAlreadyExistsError(f"{new_schema}.{new_name} already exists") from error

    def _row(self, schema: str, name: str) -> tuple[ColumnElement[bool], ...]:
        return (
            IcebergTables.catalog_name == self._catalog.name,
            IcebergTables.table_namespace == schema,
            IcebergTables.table_name == name,
            IcebergTables.iceberg_type == _VIEW,
        )

    def _location(self, schema: str, name: str) -> str | None:
        parameters = {"catalog": self._catalog.name, "schema": schema, "name": name}
        with self._catalog.engine.connect() as connection:
            location: str | None = connection.execute(_LOCATION, parameters).scalar()
            return location

    def _read(self, location: str) -> IcebergView:
        return parse_raw(read_raw(self._catalog._load_file_io(location=location), location), IcebergView.model_validate)

    def _write(self, metadata: IcebergView) -> str:
        number = metadata.current_version_id - 1
        location = f"{metadata.location}/metadata/{number:05d}-{uuid.uuid4()}.metadata.json"
        output = self._catalog._load_file_io(location=location).new_output(location)
        with output.create() as stream:
            stream.write(metadata.model_dump_json().encode())
        return location

    def _delete_all(self, location: str) -> None:
        """Every version's file where the folder is the view's alone, else the newest."""
        folder = location.rpartition("/")[0]
        if not _OWN_FOLDER.search(folder):
            self._delete(location)
            return
        for file in list(walk(self._catalog._load_file_io(location=location), folder)):
            self._delete(file.location)

    def _delete(self, location: str) -> None:
        self._catalog._load_file_io(location=location).delete(location)
