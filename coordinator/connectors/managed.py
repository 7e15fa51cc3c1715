"""Catalogs that are made, changed and dropped while the coordinator runs (``catalog.management=dynamic``)."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkstemp
from typing import Literal, Protocol

import structlog
from pydantic import Field

from coordinator.connectors.catalog_files import (
    edited,
    said_by,
    stamps_of,
    text_in,
    text_of,
    unwritable,
    without_place,
)
from coordinator.connectors.registry import CatalogConfig, Catalogs, catalog_of_properties, read_catalog
from coordinator.security.current_session import acting_for_itself
from coordinator.security.redaction import secrets_of, without
from coordinator.values.settings import Seconds, Settings
from coordinator.vocabulary.planned_statement import CatalogDefinition, CatalogEdit, ManageCatalog
from shared.errors import ErrorCode, ProcessionError
from shared.properties import ConfigurationError, Property, parse_properties
from shared.spi.connector import Connector

_log = structlog.get_logger(__name__)
CheckRules = Callable[[str, Mapping[str, Property]], None]
"""Raises ConfigurationError where the access rules of a catalog's file are wrong."""


class CatalogSettings(Settings):
    """Whether catalogs change while the coordinator runs, with Trino's names."""

    management: Literal["static", "dynamic"] = Field(
        "static",
        alias="catalog.management",
        description="`dynamic` allows CREATE CATALOG and DROP CATALOG, and follows changed files under `etc/catalog`.",
    )
    store: Literal["file", "memory"] = Field(
        "file",
        alias="catalog.store",
        description="Where CREATE CATALOG keeps what it was told: in a file under `etc/catalog`, or in memory, until"
        " the coordinator ends. With `memory` files are read at the start alone.",
    )
    read_only: bool = Field(
        False,
        alias="catalog.read-only",
        description="With `catalog.store=file`: changed files are followed, and no statement changes catalogs.",
    )
    refresh_interval: Seconds = Field(
        5.0,
        alias="catalog.refresh-interval",
        gt=0,
        description="How often the files under `etc/catalog` are looked at.",
    )

    @property
    def by_statements(self) -> bool:
        """Whether statements may make and drop catalogs."""
        return self.management == "dynamic" and not (self.store == "file" and self.read_only)

    @property
    def by_files(self) -> bool:
        """Whether changed files are followed."""
        return self.management == "dynamic" and self.store == "file"


@dataclass(frozen=True, slots=True)
class SharedDefinition:
    """``version`` is another where a catalog was dropped and made again."""

    version: int
    definition: CatalogDefinition | None
    """None where another secret has sealed it: nobody here can read it, and it is there all the same."""


class CatalogStore(Protocol):
    """Where several coordinators keep the catalogs that statements made. Every method raises ProcessionError."""

    def all(self) -> Mapping[str, SharedDefinition]: ...

    def add(self, name: str, definition: CatalogDefinition) -> int | None:
        """The version of what is new; None where one of this name is there."""
        ...

    def replace(self, name: str, version: int, definition: CatalogDefinition) -> int | None:
        """The new version; None where another than ``version`` is there, or none."""
        ...

    def remove(self, name: str) -> None: ...


class CatalogManager:
    """Thread-safe; its methods block. ``changed`` is called after each change, in the thread that made it.

    With a ``store`` it has the catalogs that statements made on any coordinator, and files those of the configuration.
    """

    def __init__(
        self,
        catalogs: Catalogs,
        folder: Path,
        data_dir: Path,
        settings: CatalogSettings,
        check_rules: CheckRules,
        store: CatalogStore | None = None,
    ) -> None:
        self._store = store
        self._versions: dict[str, int] = {}
        self._stated: dict[str, CatalogDefinition] = {}
        """As statements said it, with references to the environment; of ``catalog.store=memory``."""
        self._untold = False
        self._catalogs, self._folder, self._data_dir = catalogs, folder, data_dir
        self._settings, self._check_rules = settings, check_rules
        self.changed: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._seen = stamps_of(folder)

    def carry_out(self, work: ManageCatalog) -> None:
        """Make or drop a catalog, and keep that; raises ProcessionError, and has changed nothing then."""
        # A catalog that is new is among those that nobody may name yet.
        with self._lock, acting_for_itself():
            if not self._settings.by_statements:
                raise ProcessionError(ErrorCode.NOT_SUPPORTED, "Statements cannot change catalogs: they are read-only")
            match work.definition:
                case CatalogDefinition():
                    self._create(work.catalog, work.definition, lenient=work.lenient)
                case CatalogEdit():
                    self._edit(work.catalog, work.definition)
                case None:
                    self._drop(work.catalog, lenient=work.lenient)

    def follow_store(self) -> None:
        """Take over what other coordinators made and dropped; one that cannot be made here is told, and tried again."""
        if self._store is None:
            return
        with self._lock, acting_for_itself():
            found = self._store.all()
            configs = {config.name: config for config in self._catalogs.configs()}
            gone = [name for name in self._versions if name not in found]
            for name in gone:
                configs.pop(name, None)
                self._forget(name)
                _log.info("catalog dropped on another coordinator", catalog=name)
            made = self._shared(found, configs)
            if made or gone or self._untold:
                self._install(tuple(configs.values()), made)

    def _forget(self, name: str) -> None:
        """A shared catalog is gone; a file of its name, which was passed over, counts as new."""
        del self._versions[name]
        self._seen = {file: stamp for file, stamp in self._seen.items() if file.stem.lower() != name}

    def _shared(self, found: Mapping[str, SharedDefinition], configs: dict[str, CatalogConfig]) -> dict[str, Connector]:
        """New definitions go into ``configs``; their connectors."""
        made = {}
        for name, shared in found.items():
            if self._versions.get(name) == shared.version or shared.definition is None:
                continue
            if name in configs and name not in self._versions:
                _log.error("a file defines a catalog that a statement has made on another coordinator", catalog=name)
                continue
            try:
                file = self._folder / f"{name}.properties"
                text, given = text_of(shared.definition), shared.definition.properties
                failed = f"Cannot create catalog '{name}'"
                # Who made it has reached it. Whether it answers now must keep no other catalog waiting.
                configs[name], made[name] = self._defined(failed, file, text, given, reach=False)
            except ProcessionError as error:
                _log.error("a catalog of another coordinator cannot be made here", catalog=name, reason=error.message)
                continue
            self._versions[name] = shared.version
            _log.info("catalog of another coordinator added", catalog=name)
        return made

    def follow_files(self) -> None:
        """Take over what changed under the folder; a file that is wrong is told, and its catalog stays as it was."""
        with self._lock:
            found = stamps_of(self._folder)
            if found == self._seen and not self._untold:
                return
            touched = [file for file, stamp in found.items() if self._seen.get(file) != stamp]
            gone = {file.stem.lower() for file in self._seen.keys() - found.keys()}
            gone -= {file.stem.lower() for file in found}
            self._seen = found
            configs = {config.name: config for config in self._catalogs.configs()}
            made = self._taken_over(touched, configs)
            for name in (gone & configs.keys()) - self._versions.keys():
                _log.info("catalog dropped, as its file is gone", catalog=name)
                del configs[name]
            if made or gone or self._untold:
                self._install(tuple(configs.values()), made)

    def _taken_over(self, files: Sequence[Path], configs: dict[str, CatalogConfig]) -> dict[str, Connector]:
        """New definitions go into ``configs``; their connectors."""
        made = {}
        for file in files:
            if file.stem.lower() in self._versions:
                _log.error("a statement has made the catalog of this file's name, which stays", file=str(file))
                continue
            try:
                config = replace(read_catalog(file), data_dir=self._data_dir)
                known = configs.get(config.name)
                if known is not None and said_by(known) == said_by(config):
                    continue
                made[config.name] = self._connector(config)
            except Exception as error:  # drivers of others say what they like
                _log.error("the catalog stays as it was", file=str(file), reason=str(error))
                continue
            configs[config.name] = config
            _log.info("catalog changed" if known is not None else "catalog added", catalog=config.name, file=str(file))
        return made

    def _create(self, name: str, definition: CatalogDefinition, *, lenient: bool) -> None:
        if self._catalogs.has(name):
            if lenient:
                return
            raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"Catalog '{name}' already exists")
        file = self._folder / f"{name}.properties"
        text = text_of(definition)
        config = self._defined(f"Cannot create catalog '{name}'", file, text, definition.properties)
        if self._store is not None:
            version = self._store.add(name, definition)
            if version is None:
                raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"Catalog '{name}' already exists")
            self._versions[name] = version
        elif self._settings.store == "file":
            self._write(file, text)
        else:
            self._stated[name] = definition
        self._install((*self._catalogs.configs(), config[0]), {name: config[1]})
        _log.info("catalog created", catalog=name, connector=definition.connector)

    def _edit(self, name: str, edit: CatalogEdit) -> None:
        """The catalog is made anew with its changed properties, and replaces the old one once it can be reached."""
        known = {config.name: config for config in self._catalogs.configs()}
        if name not in known:
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Catalog '{name}' does not exist")
        if self._store is not None and name not in self._versions:
            raise _of_a_file(name, "change it there")
        kept = self._settings.store == "file" and self._store is None
        file = next((f for f in stamps_of(self._folder) if f.stem.lower() == name), self._folder / f"{name}.properties")
        stated = None if kept else _altered(self._definition(name, known[name]), edit)
        text = edited(text_in(file), dict(edit.properties)) if stated is None else text_of(stated)
        given = [(key, value) for key, value in edit.properties if value is not None]
        known[name], made = self._defined(f"Cannot alter catalog '{name}'", file, text, given)
        if stated is None:
            self._write(file, text, over=True)
        elif self._store is not None:
            version = self._store.replace(name, self._versions[name], stated)
            if version is None:
                raise _changed_meanwhile(name)
            self._versions[name] = version
        else:
            self._stated[name] = stated
        self._install(tuple(known.values()), {name: made})
        _log.info("catalog altered", catalog=name)

    def _definition(self, name: str, config: CatalogConfig) -> CatalogDefinition:
        """As statements said it: what the environment has to say stays there."""
        if self._store is None:
            connector, properties = said_by(config)
            return self._stated.get(name) or CatalogDefinition(connector, tuple(properties.items()))
        shared = self._store.all().get(name)
        if shared is None or shared.definition is None or shared.version != self._versions[name]:
            raise _changed_meanwhile(name)
        return shared.definition

    def _defined(
        self, failed: str, file: Path, text: str, given: Sequence[tuple[str, str]], *, reach: bool = True
    ) -> tuple[CatalogConfig, Connector]:
        """The definition, checked as a file's is, with a connector, which with ``reach`` has reached its own."""
        secrets = secrets_of(given)
        try:
            properties = parse_properties(text, file)
            secrets |= secrets_of((entry.name, entry.value) for entry in properties.values())
            config = replace(catalog_of_properties(file, properties), data_dir=self._data_dir)
            connector = self._connector(config)
            if reach:
                connector.schemas()
        except ConfigurationError as error:
            reason = without(without_place(str(error), file), secrets)
            raise ProcessionError(ErrorCode.INVALID_ARGUMENTS, f"{failed}: {reason}") from None
        except ProcessionError as error:
            reason = without(error.message, secrets)
            raise ProcessionError(error.code, f"{failed}: {reason}") from None
        except Exception as error:
            # Drivers of others say what they like of an address that is none.
            reason = without(f"{type(error).__name__}: {error}", secrets)
            raise ProcessionError(ErrorCode.INVALID_ARGUMENTS, f"{failed}: {reason}") from None
        return config, connector

    def _connector(self, config: CatalogConfig) -> Connector:
        self._check_rules(config.name, config.properties)
        only = Catalogs([config])
        only.spark_conf()
        only.spark_drivers()
        return only.connector(config.name)

    def _write(self, file: Path, text: str, *, over: bool = False) -> None:
        """Whole or not at all, readable for its owner alone; over a file that is there only where that is meant."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor, fresh = mkstemp(prefix=f".{file.stem}-", suffix=".new", dir=self._folder)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as out:
                    out.write(text)
                    out.flush()
                    os.fsync(out.fileno())
                if over:
                    Path(fresh).replace(file)
                else:
                    os.link(fresh, file)
            finally:
                Path(fresh).unlink(missing_ok=True)
        except FileExistsError as error:
            raise ProcessionError(ErrorCode.ALREADY_EXISTS, f"There is a file {file.name} already") from error
        except OSError as error:
            raise unwritable(error) from error
        self._seen = stamps_of(self._folder)

    def _drop(self, name: str, *, lenient: bool) -> None:
        left = tuple(config for config in self._catalogs.configs() if config.name != name)
        if len(left) == len(self._catalogs.configs()):
            if lenient:
                return
            raise ProcessionError(ErrorCode.NOT_FOUND, f"Catalog '{name}' does not exist")
        if self._store is not None:
            if name not in self._versions:
                raise _of_a_file(name, "take that away on all coordinators")
            self._store.remove(name)
            self._forget(name)
        elif self._settings.store == "file":
            try:
                for file in stamps_of(self._folder):
                    if file.stem.lower() == name:
                        file.unlink()
            except OSError as error:
                raise unwritable(error) from error
            self._seen = stamps_of(self._folder)
        self._stated.pop(name, None)
        self._install(left, {})
        _log.info("catalog dropped", catalog=name)

    def _install(self, configs: Sequence[CatalogConfig], made: Mapping[str, Connector]) -> None:
        """Where somebody could not be told, they are told again when catalogs are looked at next."""
        self._catalogs.replace(configs, made)
        self._untold = True
        self.changed()
        self._untold = False


def _of_a_file(name: str, advice: str) -> ProcessionError:
    return ProcessionError(ErrorCode.NOT_SUPPORTED, f"Catalog '{name}' comes from a file: {advice}")


def _changed_meanwhile(name: str) -> ProcessionError:
    return ProcessionError(ErrorCode.TRANSACTION_CONFLICT, f"Catalog '{name}' was changed meanwhile; try again")


def _altered(definition: CatalogDefinition, edit: CatalogEdit) -> CatalogDefinition:
    properties = dict([("connector.name", definition.connector), *definition.properties])
    for name, value in edit.properties:
        if value is None:
            properties.pop(name, None)
        else:
            properties[name] = value
    return CatalogDefinition(properties.pop("connector.name", ""), tuple(properties.items()))
