"""Which object store a catalog's tables are in, and what Iceberg in Spark needs to reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from coordinator.kernels import azure_store

ICEBERG_VERSION = "1.11.0"


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Iceberg's Java FileIO of one store and the Maven module that holds it.

    ``prefix`` begins the names of its properties, ``schemes`` the locations of its files.
    """

    prefix: str
    schemes: tuple[str, ...]
    file_io: str
    module: str

    @property
    def package(self) -> str:
        return f"org.apache.iceberg:{self.module}:{ICEBERG_VERSION}"


S3 = ObjectStore("s3.", ("s3", "s3a", "s3n"), "org.apache.iceberg.aws.s3.S3FileIO", "iceberg-aws-bundle")
AZURE = ObjectStore(
    "adls.", tuple(sorted(azure_store.SCHEMES)), "org.apache.iceberg.azure.adlsv2.ADLSFileIO", "iceberg-azure-bundle"
)
GOOGLE = ObjectStore("gcs.", ("gs", "gcs"), "org.apache.iceberg.gcp.gcs.GCSFileIO", "iceberg-gcp-bundle")
_STORES = (S3, GOOGLE, AZURE)


def object_store(storage: Mapping[str, str], warehouse: str | None) -> ObjectStore | None:
    """The store of a catalog by its warehouse's scheme, else by the storage properties it sets; None for disks."""
    by_name = (store for store in _STORES if any(name.startswith(store.prefix) for name in storage))
    return store_of(warehouse or "") or next(by_name, None)


def store_of(location: str) -> ObjectStore | None:
    """The store of a location by its scheme; None for disks."""
    scheme = urlsplit(location).scheme
    return next((store for store in _STORES if scheme in store.schemes), None)


def s3_options(storage: Mapping[str, str]) -> dict[str, str]:
    """What S3FileIO does not take from the properties that it shares with PyIceberg: path style, region."""
    options = {"s3.path-style-access": "true" if "s3.endpoint" in storage else "false"}
    if region := storage.get("s3.region"):
        options["client.region"] = region
    return options


def azure_options(storage: Mapping[str, str], warehouse: str | None) -> dict[str, str]:
    """What ADLSFileIO has under other names: keys, signatures and places, each of one account."""
    place = azure_store.azure_account(storage, warehouse)
    if place is None:
        return {}
    host, name = place.host, place.host.partition(".")[0]
    options = {}
    if (sas := azure_store.shared_access_signature(host, storage)) is not None:
        options[f"adls.sas-token.{host}"] = sas
    if (key := azure_store.shared_key(host, storage)) is not None:
        options |= {"adls.auth.shared-key.account.name": name, "adls.auth.shared-key.account.key": key}
    if (endpoint := azure_store.azure_endpoint(host, storage)) is not None:
        options[f"adls.connection-string.{host}"] = endpoint.geturl()
    return options


def glue_options(storage: Mapping[str, str]) -> dict[str, str]:
    """What Iceberg's Java library has under other names: the region, and the keys of S3 where Glue's client has some.

    Keys of Glue itself it takes from the usual places alone (environment, instance role).
    """
    region = storage.get("client.region") or storage.get("glue.region")
    keys = ("access-key-id", "secret-access-key", "session-token")
    options = {f"s3.{name}": storage[f"client.{name}"] for name in keys if f"client.{name}" in storage}
    return options if region is None else options | {"client.region": region}
