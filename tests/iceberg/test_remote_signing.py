"""A store whose requests the catalog's server signs: the server has the key, nobody else, and the store checks.

Signatures are made and checked by botocore, which the code under test does not use; rows are read back with the keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from pyiceberg.catalog.sql import SqlCatalog

from coordinator.connectors.iceberg.connector import IcebergConnector
from coordinator.connectors.iceberg.rest.signing import signed
from coordinator.connectors.iceberg.rest.vended_keys import vended_keys
from coordinator.kernels.signed_store import ADDRESS, TOKEN
from coordinator.kernels.storage import open_new, resolve
from shared.properties import Property
from tests.iceberg.rest_catalog import RefusedError, serving
from tests.iceberg.rest_habits import Habits
from tests.iceberg.test_vended_keys import numbers
from tests.iceberg.vending_store import ROOT, VendingStore, vending_store

KEYS = Credentials(*ROOT.values())
LOGIN = "Bearer logintoken"


@dataclass
class Signer:
    """``asked`` counts the methods of what was to be signed; those in ``refused`` are not."""

    asked: Counter[str] = field(default_factory=Counter)
    refused: set[str] = field(default_factory=set)
    elsewhere: str = ""
    nonsense: dict[str, Any] | None = None

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        self.asked[body["method"]] += 1
        if body["method"] in self.refused:
            raise RefusedError(403)
        if self.nonsense is not None:
            return self.nonsense
        request = AWSRequest(body["method"], body["uri"], {k: v[0] for k, v in body["headers"].items()})
        S3SigV4Auth(KEYS, "s3", body["region"]).add_auth(request)
        return {"uri": self.elsewhere or body["uri"], "headers": {k: [v] for k, v in request.headers.items()}}


class Door:
    """Before the store: a request whose signature is not what botocore makes of it is refused."""

    def __init__(self, store: VendingStore) -> None:
        self.inner, self.right, self.wrong = store.app, 0, 0

    def __call__(self, environ: dict[str, Any], start: Any) -> Any:
        if "HTTP_USER_AGENT" in environ:  # of AWS's own library, which has the keys
            return self.inner(environ, start)
        told = environ.get("HTTP_AUTHORIZATION", "")
        names = told.partition("SignedHeaders=")[2].partition(",")[0].split(";")
        headers = {name: environ["HTTP_" + name.upper().replace("-", "_")] for name in names}
        request = AWSRequest(environ["REQUEST_METHOD"], f"http://{environ['HTTP_HOST']}{environ['RAW_URI']}", headers)
        request.context["timestamp"] = headers.get("x-amz-date", "")
        auth = S3SigV4Auth(KEYS, "s3", "us-east-1")
        expected = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
        if told.endswith(f"Signature={expected}"):
            self.right += 1
            return self.inner(environ, start)
        self.wrong += 1
        start("403 Forbidden", [("Content-Length", "0")])
        return []


@dataclass
class Signed:
    """A lake behind a server that signs; ``other`` writes with the keys of the store."""

    lake: Any
    store: VendingStore
    signer: Signer
    door: Door
    address: str

    @property
    def options(self) -> dict[str, str]:
        return {**self.store.addresses, ADDRESS: f"{self.address}/v1/aws/s3/sign", TOKEN: "logintoken"}


@pytest.fixture(scope="module")
def store() -> Iterator[VendingStore]:
    with pytest.MonkeyPatch.context() as patch, vending_store() as running:
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield running


@pytest.fixture
def behind(lake: Any, store: VendingStore, request: pytest.FixtureRequest) -> Iterator[Signed]:
    signer, door = Signer(), Door(store)
    folder = f"s3://lake/{request.node.name}"
    lake.other = SqlCatalog("lab", uri=lake.uri, warehouse=folder, **ROOT, **store.addresses)
    told = {**store.addresses, "s3.remote-signing-enabled": "true"}
    habits = Habits(vend=lambda _: (told, []), admits=lambda login: login == LOGIN, sign=signer)
    with serving(lake.other, habits) as address:
        values = {
            "iceberg.catalog.type": "rest",
            "iceberg.rest.uri": address,
            "iceberg.rest.auth.oauth2.token": "logintoken",
            "iceberg.journal.file": f"{lake.home}/rest.journal.db",
        }
        properties = {k: Property(k, v, Path("lab.properties"), i) for i, (k, v) in enumerate(values.items(), start=2)}
        lake.connector = IcebergConnector("lab", properties)
        inner, store.app = store.app, door
        yield Signed(lake, store, signer, door, address)
        store.app = inner
    assert door.wrong == 0
    assert not any(b"logintoken" in file.read_bytes() for file in lake.home.rglob("*") if file.is_file())
    assert door.right > 0 or signer.elsewhere


def test_a_rewrite_and_what_looks_at_files(behind: Signed) -> None:
    lake = behind.lake
    lake.create("t", [numbers(i * 50) for i in range(6)])
    before = lake.rows("t")
    assert lake.rewrite("t")["added_data_files_count"] == 1
    lake.call("compute_table_stats", schema="db", table_name="t")
    lake.call("validate_files", schema="db", table_name="t", check_footers=True)
    lake.call("remove_orphan_files", schema="db", table_name="t")
    assert lake.rows("t") == before
    assert set(behind.signer.asked) >= {"GET", "HEAD", "PUT"}


def test_files_of_every_size_and_name(behind: Signed) -> None:
    folder = "s3://lake/files/a b+c%20=ü?#"
    table = pa.table({"n": range(200_000), "s": [f"{i:064}" for i in range(200_000)]})
    with open_new(f"{folder}/big.parquet", behind.options) as stream:
        pq.write_table(table, stream, compression="none")
    filesystem, path = resolve(f"{folder}/big.parquet", behind.options)
    own = behind.store.filesystem()
    assert own.get_file_info(path).size == filesystem.get_file_info(path).size > 1 << 23, "in parts"
    assert pq.read_table(path, filesystem=own).equals(table)
    before = behind.signer.asked["GET"]
    assert pq.read_table(path, filesystem=filesystem, columns=["n"]).column("n").equals(table.column("n"))
    assert behind.signer.asked["GET"] - before == 1, "one signature for all ranges"
    with open_new(f"{folder}/empty", behind.options):
        pass
    found = filesystem.get_file_info(pafs.FileSelector(path.rpartition("/")[0], recursive=True))
    assert {(i.base_name, i.size == 0) for i in found} == {("big.parquet", False), ("empty", True)}
    for info in found:
        filesystem.delete_file(info.path)
    assert filesystem.get_file_info(path).type == pafs.FileType.NotFound
    with pytest.raises(FileNotFoundError):
        filesystem.open_input_file(path)


def test_what_the_server_does_not_sign(behind: Signed) -> None:
    filesystem, _ = resolve("s3://lake/files/x", behind.options)
    behind.signer.refused = {"GET", "PUT"}
    with pytest.raises(OSError, match=r"does not sign GET of .*: status 403"):
        filesystem.get_file_info(pafs.FileSelector("lake/files"))
    with pytest.raises(OSError, match="does not sign PUT"), open_new("s3://lake/files/x", behind.options):
        pass
    behind.signer.refused, behind.signer.nonsense = set(), {"headers": "none"}
    with pytest.raises(OSError, match="signature of DELETE cannot be read"):
        filesystem.delete_file("lake/files/x")
    behind.signer.nonsense, behind.signer.elsewhere = None, "http://127.0.0.1:1/lake/files/x"
    with pytest.raises(OSError, match="signed a request to another host"):
        filesystem.delete_file("lake/files/x")


URI = "https://catalog.example/api"
SIGNS = {"s3.remote-signing-enabled": "true"}
OWN = {"s3.access-key-id": "a", "s3.secret-access-key": "b"}
LENT = [("s3://lake", {**OWN, "s3.session-token": "c"})]


@pytest.mark.parametrize(
    ("catalog", "config", "lent", "login", "address"),
    [
        ({}, SIGNS, [], LOGIN, f"{URI}/v1/aws/s3/sign"),
        ({}, SIGNS, [], None, f"{URI}/v1/aws/s3/sign"),
        ({}, SIGNS | {"s3.signer.endpoint": "v1/x/sign/t"}, [], LOGIN, f"{URI}/v1/x/sign/t"),
        ({}, SIGNS | {"s3.signer.uri": "https://catalog.example/b/"}, [], LOGIN, "https://catalog.example/b/v1/aws/s3/sign"),
        (OWN | SIGNS, SIGNS, [], LOGIN, f"{URI}/v1/aws/s3/sign"),
        # Keys go before, and nobody else is told the login.
        (OWN, SIGNS, [], LOGIN, None),
        ({}, SIGNS, LENT, LOGIN, None),
        ({}, {}, [], LOGIN, None),
        ({}, SIGNS | {"s3.signer.uri": "https://other.example/"}, [], LOGIN, None),
        ({}, SIGNS | {"s3.signer.endpoint": "//other.example/sign"}, [], LOGIN, f"{URI}/other.example/sign"),
        ({}, SIGNS | {"s3.signer.endpoint": "http://catalog.example/sign"}, [], LOGIN, None),
        ({}, SIGNS, [], "Basic bWU6c2VjcmV0", None),
    ],
)  # fmt: skip
def test_who_signs(
    catalog: dict[str, str], config: dict[str, str], lent: Any, login: str | None, address: str | None
) -> None:
    found = signed(vended_keys(catalog, config, lent, 0.0), catalog, URI, login)
    assert found.storage.get(ADDRESS) == address
    assert found.storage.get(TOKEN) == (None if address is None else (login or "").removeprefix("Bearer "))
