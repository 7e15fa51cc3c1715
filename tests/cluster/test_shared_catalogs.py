"""Catalogs that a statement makes on one coordinator are on all of them, over a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text

from coordinator.cluster.catalogs import SharedCatalogs
from coordinator.cluster.store import ClusterStore
from coordinator.connectors.managed import CatalogManager, CatalogSettings
from coordinator.connectors.registry import Catalogs, read_catalogs
from coordinator.server.peer_queries import PEER_CATALOGS
from coordinator.server.peers import PeerTokens
from coordinator.vocabulary.planned_statement import CatalogDefinition, CatalogEdit, ManageCatalog
from shared.errors import ErrorCode, ProcessionError
from shared.protocol.internal_authentication import BEARER_HEADER
from tests.cluster.conftest import SECRET, Pair
from tests.databases import new_database

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def store(postgres: str) -> Iterator[ClusterStore]:
    made = ClusterStore(new_database(postgres, "catalogs"))
    yield made
    made.close()


class Node:
    """A coordinator's manager, with one catalog of a file."""

    def __init__(self, home: Path, store: ClusterStore, secret: str = "secret") -> None:
        self.folder = home / "catalog"
        self.folder.mkdir(parents=True)
        (self.folder / "filed.properties").write_text("connector.name=tpch\n")
        self.catalogs = Catalogs(read_catalogs(self.folder))
        settings = CatalogSettings.model_validate({"catalog.management": "dynamic"})
        shared = SharedCatalogs(store.engine, secret)
        self.manager = CatalogManager(self.catalogs, self.folder, home, settings, lambda _n, _p: None, shared)
        self.manager.follow_store()

    def create(self, name: str, **properties: str) -> None:
        given = tuple((key.replace("__", ".").replace("_", "-"), value) for key, value in properties.items())
        self.manager.carry_out(ManageCatalog(name, CatalogDefinition("tpch", given), lenient=False))

    def drop(self, name: str) -> None:
        self.manager.carry_out(ManageCatalog(name, None, lenient=False))

    @property
    def names(self) -> tuple[str, ...]:
        self.manager.follow_store()
        return tuple(name for name in self.catalogs.all_names() if name != "system")


def test_made_here_and_dropped_there(store: ClusterStore, tmp_path: Path) -> None:
    one, two = Node(tmp_path / "one", store), Node(tmp_path / "two", store)
    one.create("fresh", tpch__column_naming="STANDARD")
    assert one.names == two.names == ("filed", "fresh")
    assert two.catalogs.schemas("fresh")
    assert sorted(file.name for file in one.folder.iterdir()) == ["filed.properties"], "the database alone keeps it"
    assert Node(tmp_path / "three", store).names == ("filed", "fresh"), "also of one that starts later"
    with pytest.raises(ProcessionError) as refused:
        two.create("fresh")
    assert refused.value.code is ErrorCode.ALREADY_EXISTS
    two.drop("fresh")
    assert one.names == two.names == ("filed",)
    one.create("fresh")
    assert "fresh" in two.names
    two.drop("fresh")
    two.create("fresh", tpch__column_naming="STANDARD")
    one.manager.follow_store()
    (config,) = [each for each in one.catalogs.configs() if each.name == "fresh"]
    assert config.properties["tpch.column-naming"].value == "STANDARD", "dropped and made again is another"
    one.drop("fresh")


def test_altered_on_one_and_another(store: ClusterStore, tmp_path: Path) -> None:
    def naming(node: Node) -> str | None:
        node.manager.follow_store()
        (config,) = [each for each in node.catalogs.configs() if each.name == "altered"]
        found = config.properties.get("tpch.column-naming")
        return None if found is None else found.value

    def edit(node: Node, name: str, value: str | None) -> None:
        node.manager.carry_out(ManageCatalog(name, CatalogEdit((("tpch.column-naming", value),)), lenient=False))

    one, two = Node(tmp_path / "one", store), Node(tmp_path / "two", store)
    one.create("altered")
    edit(one, "altered", "STANDARD")
    assert naming(one) == naming(two) == "STANDARD"
    edit(two, "altered", None)
    assert naming(one) is None
    two.manager.follow_store()
    edit(one, "altered", "STANDARD")
    with pytest.raises(ProcessionError) as lost:
        edit(two, "altered", "SIMPLIFIED")
    assert lost.value.code is ErrorCode.TRANSACTION_CONFLICT, "it had not seen the change"
    assert naming(two) == "STANDARD"
    with pytest.raises(ProcessionError, match="comes from a file") as refused:
        edit(one, "filed", "STANDARD")
    assert refused.value.code is ErrorCode.NOT_SUPPORTED
    assert [file.name for file in one.folder.iterdir()] == ["filed.properties"]
    one.drop("altered")


def test_two_at_once_make_one(store: ClusterStore, tmp_path: Path) -> None:
    one, two = Node(tmp_path / "one", store), Node(tmp_path / "two", store)
    one.create("both")
    with pytest.raises(ProcessionError) as refused:
        two.create("both", tpch__column_naming="STANDARD")  # it has not looked yet
    assert refused.value.code is ErrorCode.ALREADY_EXISTS
    one.drop("both")


def test_catalogs_of_files_stay_with_their_files(store: ClusterStore, tmp_path: Path) -> None:
    one = Node(tmp_path / "one", store)
    with pytest.raises(ProcessionError, match="comes from a file"):
        one.drop("filed")
    with pytest.raises(ProcessionError) as refused:
        one.drop("none")
    assert refused.value.code is ErrorCode.NOT_FOUND
    other = Node(tmp_path / "other", store)
    (other.folder / "mine.properties").write_text("connector.name=tpch\ntpch.column-naming=STANDARD\n")
    other.manager.follow_files()
    one.create("mine")
    assert other.names == ("filed", "mine")
    (config,) = [each for each in other.catalogs.configs() if each.name == "mine"]
    assert "tpch.column-naming" in config.properties
    one.drop("mine")


def test_the_database_tells_no_password(store: ClusterStore, tmp_path: Path) -> None:
    shared = SharedCatalogs(store.engine, "secret")
    definition = CatalogDefinition("postgresql", (("connection-password", "open-sesame"),))
    assert shared.add("secretive", definition) is not None
    assert shared.add("secretive", definition) is None
    assert shared.all()["secretive"].definition == definition
    assert SharedCatalogs(store.engine, "other").all()["secretive"].definition is None
    with store.engine.connect() as connection:
        assert "sesame" not in str(connection.execute(text("SELECT * FROM cluster_catalogs")).all())
    # It cannot be reached from here, which keeps nothing else from being taken over.
    one = Node(tmp_path / "one", store)
    shared.add("simple", CatalogDefinition("tpch", ()))
    assert one.names == ("filed", "simple")
    for name in ("secretive", "simple"):
        shared.remove(name)
    assert one.names == ("filed",)


def test_a_database_that_is_away(store: ClusterStore, tmp_path: Path) -> None:
    one = Node(tmp_path / "one", store)
    one.create("kept")
    one.manager._store = SharedCatalogs(_closed_engine(), "secret")
    with pytest.raises(ProcessionError) as refused:
        one.create("more")
    assert refused.value.retriable
    with pytest.raises(ProcessionError):
        one.drop("kept")
    assert one.catalogs.has("kept")
    one.manager._store = SharedCatalogs(store.engine, "secret")
    one.drop("kept")


def _closed_engine() -> Engine:
    return create_engine("postgresql+psycopg2://nobody@127.0.0.1:1/none", connect_args={"connect_timeout": 1})


def test_only_coordinators_ask_to_look(pair: Pair) -> None:
    assert pair.second.client.get(PEER_CATALOGS, headers={"X-Presto-User": "x"}).status_code == 404
    scope = {"method": "GET", "path": PEER_CATALOGS, "raw_path": PEER_CATALOGS.encode(), "query_string": b""}
    token = PeerTokens("aaaaa", SECRET).sign("bbbbb", scope, "", None)
    assert pair.second.client.get(PEER_CATALOGS, headers={BEARER_HEADER: token}).status_code == 200
    assert pair.looked == ["bbbbb"]
