"""CatalogManager: what statements and files make of catalogs, and what is left when they are wrong."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from coordinator.config import read_config
from coordinator.connectors.managed import CatalogManager, CatalogSettings, CatalogStore, SharedDefinition
from coordinator.connectors.registry import Catalogs, read_catalogs
from coordinator.security.current_session import acting_for
from coordinator.vocabulary.planned_statement import CatalogDefinition, CatalogEdit, ManageCatalog
from shared.errors import ErrorCode, ProcessionError
from shared.properties import ConfigurationError, Property
from shared.spi.session import Session


class Managed:
    """A folder with one catalog file, and a manager over it."""

    def __init__(self, home: Path, store: CatalogStore | None = None, **settings: str) -> None:
        self.folder = home / "catalog"
        self.folder.mkdir(parents=True)
        self.write("tpch", "connector.name=tpch\n")
        self.catalogs = Catalogs(read_catalogs(self.folder))
        self.changes = 0
        self.rules: Callable[[str, Mapping[str, Property]], None] = lambda _name, _properties: None
        given = CatalogSettings.model_validate({"catalog.management": "dynamic", **settings})
        self.manager = CatalogManager(
            self.catalogs,
            self.folder,
            home / "data",
            given,
            lambda name, properties: self.rules(name, properties),
            store,
        )
        self.manager.changed = self._count

    def write(self, name: str, text: str) -> None:
        (self.folder / f"{name}.properties").write_text(text)

    def create(self, name: str, connector: str = "tpch", lenient: bool = False, **properties: str) -> None:
        given = tuple((key.replace("__", ".").replace("_", "-"), value) for key, value in properties.items())
        self.manager.carry_out(ManageCatalog(name, CatalogDefinition(connector, given), lenient))

    def drop(self, name: str, lenient: bool = False) -> None:
        self.manager.carry_out(ManageCatalog(name, None, lenient))

    def refused(self, act: Callable[..., None], *arguments: Any, **more: Any) -> ProcessionError:
        before = (self.files, self.catalogs.all_names(), self.changes)
        with pytest.raises(ProcessionError) as raised:
            act(*arguments, **more)
        assert (self.files, self.catalogs.all_names(), self.changes) == before
        return raised.value

    @property
    def files(self) -> list[str]:
        return sorted(file.name for file in self.folder.iterdir())

    def _count(self) -> None:
        self.changes += 1


@pytest.fixture
def managed(tmp_path: Path) -> Managed:
    return Managed(tmp_path)


def test_a_catalog_is_made_kept_and_dropped(managed: Managed) -> None:
    managed.create("fresh", tpch__column_naming="STANDARD")
    assert managed.catalogs.all_names() == ("fresh", "system", "tpch")
    assert managed.catalogs.schemas("fresh")
    file = managed.folder / "fresh.properties"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    # As the next start reads it.
    assert [config.name for config in read_catalogs(managed.folder)] == ["fresh", "tpch"]
    assert read_catalogs(managed.folder)[0].properties["tpch.column-naming"].value == "STANDARD"
    managed.manager.follow_files()
    assert managed.changes == 1
    managed.drop("fresh")
    assert managed.catalogs.all_names() == ("system", "tpch")
    assert managed.files == ["tpch.properties"]
    assert managed.changes == 2


def test_if_exists_and_if_not_exists(managed: Managed) -> None:
    managed.create("tpch", lenient=True)
    managed.drop("none", lenient=True)
    assert managed.changes == 0
    assert managed.refused(managed.create, "tpch").code is ErrorCode.ALREADY_EXISTS
    assert managed.refused(managed.drop, "none").code is ErrorCode.NOT_FOUND


@pytest.mark.parametrize(
    ("connector", "properties", "told"),
    [
        ("nope", {}, "no connector is named 'nope'"),
        ("tpch", {"tpch__colum_naming": "STANDARD"}, "unknown property 'tpch.colum-naming'; did you mean"),
        ("tpch", {"x": "${ENV:PROCESSION_NOT_SET}"}, "environment variable PROCESSION_NOT_SET is not set"),
        ("iceberg", {"iceberg__catalog__uri": "nonsense://x"}, "nonsense"),
        ("postgresql", {}, "connection-url"),
    ],
)
def test_a_broken_one_leaves_nothing_and_says_why(
    managed: Managed, connector: str, properties: dict[str, str], told: str
) -> None:
    error = managed.refused(managed.create, "broken", connector, **properties)
    assert error.message.startswith("Cannot create catalog 'broken': ")
    assert told in error.message
    assert str(managed.folder) not in error.message


def test_errors_hold_no_secret(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCESSION_SECRET", "open-sesame-of-env")
    for secret, shown in (("open-sesame-in-text", "open-sesame"), ("${ENV:PROCESSION_SECRET}", "open-sesame")):
        given = {"connection_url": "jdbc:postgresql://127.0.0.1:1/x", "connection_user": "u"}
        error = managed.refused(managed.create, "broken", "postgresql", connection_password=secret, **given)
        assert shown not in error.message
        error = managed.refused(managed.create, "broken", "tpch", s3__secret_access_key=secret)
        assert shown not in error.message


def test_a_reference_to_the_environment_is_written_as_it_is(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCESSION_NAMING", "STANDARD")
    managed.create("fresh", tpch__column_naming="${ENV:PROCESSION_NAMING}")
    assert "tpch.column-naming=${ENV:PROCESSION_NAMING}\n" in (managed.folder / "fresh.properties").read_text()


def test_wrong_access_rules_are_told_before(managed: Managed) -> None:
    def wrong(_name: str, _properties: Mapping[str, Property]) -> None:
        raise ConfigurationError("the rules are wrong")

    managed.rules = wrong
    assert "the rules are wrong" in managed.refused(managed.create, "fresh").message


def test_nobody_elses_file_is_written_over(managed: Managed) -> None:
    managed.write("late", "connector.name=nope\n")
    assert "There is a file late.properties already" in managed.refused(managed.create, "late").message


def test_in_memory_no_file_is_touched_or_followed(tmp_path: Path) -> None:
    managed = Managed(tmp_path, None, **{"catalog.store": "memory"})
    managed.create("fresh")
    managed.drop("tpch")
    assert managed.catalogs.all_names() == ("fresh", "system")
    assert managed.files == ["tpch.properties"]


def test_read_only_follows_files_alone(tmp_path: Path) -> None:
    managed = Managed(tmp_path, None, **{"catalog.read-only": "true"})
    assert managed.refused(managed.create, "fresh").code is ErrorCode.NOT_SUPPORTED
    managed.write("fresh", "connector.name=tpch\n")
    managed.manager.follow_files()
    assert managed.catalogs.has("fresh")


def test_files_are_followed_and_wrong_ones_change_nothing(managed: Managed) -> None:
    managed.write("fresh", "connector.name=tpch\n")
    managed.manager.follow_files()
    assert managed.catalogs.has("fresh")
    first = managed.catalogs.connector("fresh")
    kept = managed.catalogs.connector("tpch")

    managed.write("fresh", "connector.name=tpch\ntpch.wrong=1\n")
    managed.manager.follow_files()
    assert managed.catalogs.connector("fresh") is first
    assert managed.changes == 1

    managed.write("fresh", "connector.name=tpch\ntpch.column-naming=STANDARD\n")
    managed.manager.follow_files()
    assert managed.catalogs.connector("fresh") is not first
    assert managed.catalogs.connector("tpch") is kept

    (managed.folder / "fresh.properties").unlink()
    managed.manager.follow_files()
    assert not managed.catalogs.has("fresh")
    assert managed.changes == 3


def test_what_runs_keeps_the_catalog_that_it_began_with(managed: Managed) -> None:
    managed.create("fresh")
    connector = managed.catalogs.connector("fresh")
    pinned = managed.catalogs.pinned()
    managed.drop("fresh")
    managed.create("fresh", tpch__column_naming="STANDARD")
    assert pinned.connector("fresh") is connector
    assert managed.catalogs.connector("fresh") is not connector


def test_who_may_name_other_catalogs_alone_can_make_one(managed: Managed) -> None:
    """Nobody's list of catalogs has the new one yet; whether they may is asked before."""
    with acting_for(Session(user="u", accessible_catalogs=("system",))):
        managed.create("fresh")
    assert managed.catalogs.has("fresh")


def test_static_by_default(tmp_path: Path) -> None:
    (tmp_path / "config.properties").write_text("catalog.management=sometimes\n")
    with pytest.raises(ConfigurationError, match=r"config.properties:1: .*catalog.management"):
        read_config(tmp_path)
    (tmp_path / "config.properties").write_text("")
    settings = read_config(tmp_path).catalog_management
    assert not settings.by_statements
    assert not settings.by_files


def edit(managed: Managed, name: str, **properties: str | None) -> None:
    given = tuple((key.replace("__", ".").replace("_", "-"), value) for key, value in properties.items())
    managed.manager.carry_out(ManageCatalog(name, CatalogEdit(given), lenient=False))


def first_column(managed: Managed) -> str:
    table = managed.catalogs.connector("tpch").table("tiny", "region")
    assert table is not None
    return table.columns[0].name


@pytest.mark.parametrize("store", ["file", "memory"])
def test_a_catalog_is_altered_in_its_place(tmp_path: Path, store: str) -> None:
    managed = Managed(tmp_path, None, **{"catalog.store": store})
    managed.write("tpch", "# by hand\nconnector.name=tpch\ntpch.column-naming = SIMPLIFIED\n")
    managed.manager.follow_files()
    before = managed.catalogs.connector("tpch")
    edit(managed, "tpch", tpch__column_naming="STANDARD")
    assert managed.catalogs.connector("tpch") is not before
    assert first_column(managed) == "r_regionkey"
    text = (managed.folder / "tpch.properties").read_text()
    if store == "file":
        assert text == "# by hand\nconnector.name=tpch\ntpch.column-naming=STANDARD\n"
        assert stat.S_IMODE((managed.folder / "tpch.properties").stat().st_mode) == 0o600
    else:
        assert "SIMPLIFIED" in text
    changes = managed.changes
    managed.manager.follow_files()
    assert managed.changes == changes, "its own file is no news"
    edit(managed, "tpch", tpch__column_naming=None)
    assert first_column(managed) == "regionkey"


def test_what_cannot_be_altered_stays(managed: Managed) -> None:
    text = (managed.folder / "tpch.properties").read_text()
    error = managed.refused(edit, managed, "tpch", tpch__column_naming="odd-secret")
    assert error.message.startswith("Cannot alter catalog 'tpch': ")
    assert managed.refused(edit, managed, "none").code is ErrorCode.NOT_FOUND
    assert (managed.folder / "tpch.properties").read_text() == text


class KeptStore:
    """The database of several coordinators, in a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[str, SharedDefinition] = {}
        self.versions = 0

    def all(self) -> Mapping[str, SharedDefinition]:
        return dict(self.kept)

    def add(self, name: str, definition: CatalogDefinition) -> int | None:
        if name in self.kept:
            return None
        self.versions += 1
        self.kept[name] = SharedDefinition(self.versions, definition)
        return self.versions

    def replace(self, name: str, version: int, definition: CatalogDefinition) -> int | None:
        if name not in self.kept or self.kept[name].version != version:
            return None
        del self.kept[name]
        return self.add(name, definition)

    def remove(self, name: str) -> None:
        self.kept.pop(name, None)


def test_who_could_not_hear_of_a_change_hears_of_it_again(tmp_path: Path) -> None:
    store = KeptStore()
    managed = Managed(tmp_path, store)
    store.add("fresh", CatalogDefinition("tpch", ()))

    def deaf() -> None:
        raise TimeoutError

    managed.manager.changed = deaf
    with pytest.raises(TimeoutError):
        managed.manager.follow_store()
    heard: list[bool] = []
    managed.manager.changed = lambda: heard.append(managed.catalogs.has("fresh"))
    managed.manager.follow_store()
    managed.manager.follow_store()
    assert heard == [True]


def test_a_catalog_whose_database_is_away_is_on_every_coordinator(tmp_path: Path) -> None:
    store = KeptStore()
    managed = Managed(tmp_path, store)
    properties = (("connection-url", "jdbc:postgresql://127.0.0.1:1/x"), ("connection-user", "u"))
    store.add("away", CatalogDefinition("postgresql", (*properties, ("connection-password", "p"))))
    managed.manager.follow_store()
    assert managed.catalogs.has("away")


def test_a_file_does_not_replace_what_a_statement_made_for_all(tmp_path: Path) -> None:
    store = KeptStore()
    managed = Managed(tmp_path, store)
    managed.create("fresh", tpch__column_naming="STANDARD")
    connector = managed.catalogs.connector("fresh")
    managed.write("fresh", "connector.name=tpch\n")
    managed.manager.follow_files()
    assert managed.catalogs.connector("fresh") is connector
    (managed.folder / "fresh.properties").unlink()
    managed.manager.follow_files()
    assert managed.catalogs.connector("fresh") is connector
    managed.write("fresh", "connector.name=tpch\n")
    managed.manager.follow_files()
    managed.drop("fresh")
    managed.manager.follow_files()
    assert managed.catalogs.has("fresh"), "the name is free, and the file is there"


def test_what_another_secret_has_sealed_is_not_gone(tmp_path: Path) -> None:
    store = KeptStore()
    managed = Managed(tmp_path, store)
    managed.create("fresh")
    store.kept["fresh"] = SharedDefinition(7, None)
    managed.manager.follow_store()
    assert managed.catalogs.has("fresh")
    error = managed.refused(edit, managed, "fresh", tpch__column_naming="STANDARD")
    assert error.code is ErrorCode.TRANSACTION_CONFLICT


@pytest.mark.parametrize("shared", [True, False])
def test_alter_keeps_references_to_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    monkeypatch.setenv("PROCESSION_NAMING", "STANDARD")
    store = KeptStore() if shared else None
    managed = Managed(tmp_path, store, **{"catalog.store": "memory"})
    managed.create("fresh", tpch__column_naming="${ENV:PROCESSION_NAMING}")
    edit(managed, "fresh", tpch__cache_directory=str(tmp_path / "one"))
    if store is not None:
        definition = store.all()["fresh"].definition
        assert definition is not None
        assert ("tpch.column-naming", "${ENV:PROCESSION_NAMING}") in definition.properties
    monkeypatch.setenv("PROCESSION_NAMING", "SIMPLIFIED")
    edit(managed, "fresh", tpch__cache_directory=str(tmp_path / "two"))
    (config,) = [each for each in managed.catalogs.configs() if each.name == "fresh"]
    assert config.properties["tpch.column-naming"].value == "SIMPLIFIED"


@pytest.mark.parametrize("line", ["tpch.column-naming: SIMPLIFIED", "tpch.column-naming SIMPLIFIED"])
def test_every_way_to_write_a_property_is_altered(managed: Managed, line: str) -> None:
    managed.write("tpch", f"! tpch.column-naming=x\nconnector.name=tpch\n{line}\n")
    managed.manager.follow_files()
    edit(managed, "tpch", tpch__column_naming="STANDARD")
    text = (managed.folder / "tpch.properties").read_text()
    assert text == "! tpch.column-naming=x\nconnector.name=tpch\ntpch.column-naming=STANDARD\n"
