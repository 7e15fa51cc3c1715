"""``etc/catalog/<name>.properties`` with ``connector.name=iceberg``: checked once, given to PyIceberg and to Spark.

Names are Presto's (``iceberg.catalog.type``, ``iceberg.rest.uri``, ``hive.metastore.uri``) and, for storage,
PyIceberg's (``s3.endpoint``, ``gcs.project-id``), which Iceberg's Java FileIO shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, assert_never, cast
from urllib.parse import quote, unquote, urlsplit

import pyiceberg.io as storage_names

from coordinator.connectors.iceberg.metastores.addresses import check_package, metastore_addresses, timeout_seconds
from coordinator.connectors.iceberg.object_stores import (
    AZURE,
    S3,
    azure_options,
    glue_options,
    object_store,
    s3_options,
    store_of,
)
from coordinator.connectors.iceberg.rest.authentication import AUTH_PROPERTIES, client_auth, read_auth
from coordinator.connectors.iceberg.rest.deadlines import REQUEST_TIMEOUT
from coordinator.connectors.iceberg.storage import EXACT_FILE_IO
from coordinator.kernels import azure_store, google_store
from coordinator.kernels.signed_store import ENABLED
from shared.properties import Property
from shared.units import parse_duration

CatalogType = Literal["sql", "rest", "hive", "glue"]

_TYPES: Mapping[str, CatalogType] = {"sql": "sql", "jdbc": "sql", "rest": "rest", "hive": "hive", "glue": "glue"}
_OWN = frozenset(
    {
        "iceberg.catalog.type",
        "iceberg.catalog.uri",
        "iceberg.catalog.user",
        "iceberg.catalog.password",
        "iceberg.catalog.warehouse",
        "iceberg.rest.uri",
        "iceberg.rest.view-endpoints-enabled",
        REQUEST_TIMEOUT,
        *AUTH_PROPERTIES,
        "hive.metastore.uri",
        "hive.metastore-timeout",
        "iceberg.journal.file",
        "iceberg.expire-snapshots.min-retention",
        "iceberg.remove-orphan-files.min-retention",
        "iceberg.unfinished-table.quiet-time",
        "iceberg.write-conflict-retries",
        "iceberg.allowed-locations",
        "iceberg.allowed-extra-properties",
        # read by coordinator.security.access_control.catalog_security
        "iceberg.security",
        "hive.restrict-procedure-call",
        "hive.users.in.admin.role",
        "security.config-file",
        "security.refresh-period",
    }
)
_STORAGE_PREFIXES = ("s3.", "client.", "gcs.", "adls.", "hdfs.", "hf.", "glue.")
_ARROW_SCHEMES = frozenset(
    {"file", "s3", "s3a", "s3n", "oss", "hdfs", "viewfs"} | google_store.SCHEMES | azure_store.SCHEMES
)
"""Where files are opened by Arrow's file systems."""
_JAVA_KEYS = frozenset(
    {
        *("gcs.no-auth", "gcs.user-project", "gcs.impersonate.service-account"),
        *("adls.auth.shared-key.account.name", "adls.auth.shared-key.account.key"),
    }
)
"""Names of Iceberg's Java library that PyIceberg lacks."""
_OF_OTHER_CLIENTS = frozenset(
    {
        *("adls.token", "adls.credential", "adls.anon"),
        *("adls.tenant-id", "adls.client-id", "adls.client-secret"),
    }
)
"""Names of PyIceberg for logins that are not used here: see ``kernels/azure_store.py``."""
_OF_ONE_ACCOUNT = ("adls.sas-token.", "adls.connection-string.")
"""Names that end with the host of an account."""
_GLUE = (
    "id",
    "region",
    "endpoint",
    "skip-archive",
    "profile-name",
    "access-key-id",
    "secret-access-key",
    "session-token",
)
_TIMEOUTS: Mapping[str, CatalogType] = {"hive.metastore-timeout": "hive", REQUEST_TIMEOUT: "rest"}
_MOST_RETRIES = 20
_SPARK = "org.apache.iceberg.spark.SparkCatalog"


@dataclass(frozen=True, slots=True)
class IcebergSettings:
    """A checked catalog file. ``uri`` is an SQLAlchemy URL for ``sql``; ``storage`` goes to every FileIO.

    ``unfinished_quiet_time``: what a failed statement left is watched until nothing came for so many seconds.
    ``write_conflict_retries``: how often a write is run again that lost against another commit.
    """

    catalog: str
    type: CatalogType
    uri: str | None
    warehouse: str | None
    journal_file: Path
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    rest_auth: Mapping[str, str] = field(default_factory=dict, repr=False)
    metastore: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)
    unfinished_quiet_time: float = 60.0
    has_view_endpoints: bool = False
    write_conflict_retries: int = 3
    allowed_locations: tuple[str, ...] = ()
    allowed_properties: tuple[str, ...] = ()
    admins: tuple[str, ...] | None = None
    """Who has the role ``admin`` of a catalog that keeps roles; None where none are kept."""
    is_file: bool = False
    """Its catalog is an SQLite file, which other coordinators may have under the same name with other tables."""
    least_ages: Mapping[str, str] = field(default_factory=dict)
    """By procedure, the least age of what ``ALTER TABLE … EXECUTE`` removes."""


def read_settings(catalog: str, properties: Mapping[str, Property], data_dir: Path = Path("var")) -> IcebergSettings:
    """The settings of one catalog file; raises ConfigurationError naming file and line for a wrong entry.

    ``data_dir`` holds the embedded default: SQLite catalog, journal and warehouse under the catalog's name.
    """
    for entry in properties.values():
        known = entry.name in _OWN or entry.name in _storage_keys() or entry.name.startswith(_OF_ONE_ACCOUNT)
        if not known:
            raise entry.unknown((*_OWN, *_storage_keys()))
    kind = _catalog_type(properties)
    home = (data_dir / catalog).absolute()
    uri = _uri(kind, properties, home)
    warehouse = _value(properties, "iceberg.catalog.warehouse")
    if warehouse is None and kind == "sql":
        warehouse = f"file://{home / 'warehouse'}"
    journal = _value(properties, "iceberg.journal.file")
    return IcebergSettings(
        catalog=catalog,
        type=kind,
        uri=uri,
        warehouse=warehouse,
        journal_file=Path(journal).absolute() if journal else _journal_file(catalog, uri, home),
        user=_value(properties, "iceberg.catalog.user"),
        password=_value(properties, "iceberg.catalog.password"),
        rest_auth=read_auth(kind, properties),
        metastore=_metastore(kind, properties),
        storage={e.name: e.value for e in properties.values() if e.name.startswith(_STORAGE_PREFIXES)},
        unfinished_quiet_time=_quiet_time(properties.get("iceberg.unfinished-table.quiet-time")),
        write_conflict_retries=_retries(properties.get("iceberg.write-conflict-retries")),
        allowed_locations=_listed(properties, "iceberg.allowed-locations"),
        allowed_properties=_listed(properties, "iceberg.allowed-extra-properties"),
        admins=_admins(kind, properties),
        has_view_endpoints=_is_true(properties.get("iceberg.rest.view-endpoints-enabled")),
        is_file=uri is not None and uri.startswith("sqlite"),
        least_ages={name: _least_age(name, properties) for name in ("expire_snapshots", "remove_orphan_files")},
    )


def _is_true(entry: Property | None) -> bool:
    if entry is not None and entry.value.lower() not in ("true", "false"):
        raise entry.error(f"invalid value '{entry.value}' for '{entry.name}' (true or false)")
    return entry is not None and entry.value.lower() == "true"


def _admins(kind: CatalogType, properties: Mapping[str, Property]) -> tuple[str, ...] | None:
    entry = properties.get("iceberg.security")
    if entry is None or entry.value.lower().replace("_", "-") != "sql-standard":
        return None
    if kind != "sql":
        raise entry.error("roles and grants are kept in the database of iceberg.catalog.type=sql alone")
    return _listed(properties, "hive.users.in.admin.role")


def pyiceberg_properties(settings: IcebergSettings) -> dict[str, Any]:
    """What ``pyiceberg.catalog.load_catalog`` takes for the catalog of the same name."""
    auth = client_auth(settings.rest_auth)
    properties = {"type": settings.type, **auth, **settings.metastore, **settings.storage}
    if settings.type == "rest":
        properties |= _rest_options(settings)
    if settings.uri is not None:
        properties["uri"] = _with_login(settings)
    if settings.warehouse is not None:
        properties["warehouse"] = settings.warehouse
        # A REST catalog's warehouse may be a mere name: its locations tell PyIceberg which storage there is.
        scheme = urlsplit(settings.warehouse).scheme or ("file" if settings.type == "sql" else "")
        if scheme in _ARROW_SCHEMES:
            properties["py-io-impl"] = EXACT_FILE_IO
    elif settings.type in ("hive", "glue"):
        properties["py-io-impl"] = EXACT_FILE_IO
    return properties


def spark_properties(settings: IcebergSettings) -> dict[str, str]:
    """Spark settings for the catalog under the same name, uncached so that Spark sees our commits at once."""
    prefix = f"spark.sql.catalog.{settings.catalog}"
    conf = {prefix: _SPARK, f"{prefix}.cache-enabled": "false"}
    for name, value in _spark_catalog(settings).items():
        conf[f"{prefix}.{name}"] = value
    return conf


def spark_packages(settings: IcebergSettings) -> tuple[str, ...]:
    """Maven coordinates beside Iceberg's runtime: the clients of the object store and, for Glue, of AWS."""
    store = object_store(settings.storage, settings.warehouse)
    stores = [store, S3 if settings.type == "glue" else None]
    if settings.type == "rest" and store is None and not _is_on_disk(settings.warehouse):
        # Such a catalog tells where its tables are with each of them: most are in S3.
        stores = list(filter(None, map(store_of, settings.allowed_locations))) or [S3]
    return tuple(dict.fromkeys(store.package for store in stores if store is not None))


def _is_on_disk(warehouse: str | None) -> bool:
    return warehouse is not None and (warehouse.startswith("/") or urlsplit(warehouse).scheme == "file")


def _spark_catalog(settings: IcebergSettings) -> dict[str, str]:
    options = {**settings.rest_auth, **settings.storage}
    if settings.warehouse is not None:
        options["warehouse"] = settings.warehouse
    store = object_store(settings.storage, settings.warehouse)
    if store is not None:
        options["io-impl"] = store.file_io
    if store is S3:
        options = s3_options(settings.storage) | options
    if store is AZURE:
        options |= azure_options(settings.storage, settings.warehouse)
    match settings.type:
        case "sql":
            assert settings.uri is not None
            options |= {"type": "jdbc", "uri": jdbc_url(settings.uri), "jdbc.schema-version": "V1"}
            user, password = _login(settings)
            options |= {k: v for k, v in (("jdbc.user", user), ("jdbc.password", password)) if v is not None}
        case "rest" | "hive" | "glue":
            options["type"] = settings.type
            if settings.type == "rest":
                options |= _rest_options(settings)
            if settings.uri is not None:
                options["uri"] = settings.uri
            if settings.type == "glue":
                options = glue_options(settings.storage) | options
        case _:
            assert_never(settings.type)
    return options


def _rest_options(settings: IcebergSettings) -> dict[str, str]:
    """What PyIceberg and Iceberg's Java library are told alike: keys are asked for, or signatures where the file says.

    A server that does not list its endpoints is asked for views where the file says so.
    """
    signs = settings.storage.get(ENABLED, "").lower() == "true"
    options = {"header.X-Iceberg-Access-Delegation": "remote-signing" if signs else "vended-credentials"}
    return options | ({"view-endpoints-supported": "true"} if settings.has_view_endpoints else {})


def jdbc_url(uri: str) -> str:
    """The JDBC form of an SQLAlchemy URL, without its login.

    >>> jdbc_url("postgresql+psycopg2://u:p@host:5432/db")
    'jdbc:postgresql://host:5432/db'
    """
    dialect, _, rest = uri.partition("://")
    if dialect.startswith("sqlite"):
        return f"jdbc:sqlite:{rest.removeprefix('/')}"
    return f"jdbc:{dialect.partition('+')[0]}://{rest.rpartition('@')[2]}"


def sqlalchemy_url(uri: str) -> str:
    """The SQLAlchemy form of a JDBC URL; anything else unchanged.

    >>> sqlalchemy_url("jdbc:sqlite:/data/c.db")
    'sqlite:////data/c.db'
    """
    if not uri.startswith("jdbc:"):
        return uri.replace("postgresql://", "postgresql+psycopg2://", 1)
    plain = uri.removeprefix("jdbc:")
    if plain.startswith("sqlite:"):
        return f"sqlite:///{plain.removeprefix('sqlite:')}"
    return plain.replace("postgresql://", "postgresql+psycopg2://", 1)


def _storage_keys() -> frozenset[str]:
    names = {v for v in vars(storage_names).values() if isinstance(v, str) and v.startswith(_STORAGE_PREFIXES)}
    names -= _OF_OTHER_CLIENTS
    return frozenset(names | {"s3.path-style-access", ENABLED} | _JAVA_KEYS | {f"glue.{name}" for name in _GLUE})


def _catalog_type(properties: Mapping[str, Property]) -> CatalogType:
    entry = properties.get("iceberg.catalog.type")
    if entry is None:
        return "sql"
    kind = _TYPES.get(entry.value.lower())
    if kind is None:
        raise entry.error(f"invalid value '{entry.value}' for 'iceberg.catalog.type' (one of {', '.join(_TYPES)})")
    return kind


def _uri(kind: CatalogType, properties: Mapping[str, Property], home: Path) -> str | None:
    names = {"sql": "iceberg.catalog.uri", "rest": "iceberg.rest.uri", "hive": "hive.metastore.uri", "glue": None}
    wanted = names[kind]
    for name in ("iceberg.catalog.uri", "iceberg.rest.uri", "hive.metastore.uri"):
        if name in properties and name != wanted:
            raise properties[name].error(f"'{name}' does not apply to iceberg.catalog.type={kind}")
    value = None if wanted is None else _value(properties, wanted)
    if kind == "sql":
        return sqlalchemy_url(value or f"sqlite:///{home / 'catalog.db'}")
    if value is None and wanted is not None:
        raise properties["iceberg.catalog.type"].error(f"'{wanted}' is missing")
    return metastore_addresses(properties["hive.metastore.uri"]) if kind == "hive" else value


def _metastore(kind: CatalogType, properties: Mapping[str, Property]) -> dict[str, str]:
    """What PyIceberg's client of a metastore is told beside the address; raises when it is not installed."""
    if kind == "hive" or kind == "glue":
        check_package(kind, properties)
    limits = [properties[name] for name in _TIMEOUTS if name in properties]
    for limit in limits:
        if _TIMEOUTS[limit.name] != kind:
            raise limit.error(f"'{limit.name}' does not apply to iceberg.catalog.type={kind}")
    return {limit.name: timeout_seconds(limit) for limit in limits}


def _journal_file(catalog: str, uri: str | None, home: Path) -> Path:
    if uri is not None and uri.startswith("sqlite:///"):
        return Path(uri.removeprefix("sqlite:///")).absolute().with_name(f"{catalog}.journal.db")
    return home / "journal.db"


def _value(properties: Mapping[str, Property], name: str) -> str | None:
    entry = properties.get(name)
    return None if entry is None else entry.value


def _retries(entry: Property | None) -> int:
    if entry is None:
        return 3
    if not entry.value.isascii() or not entry.value.isdigit() or int(entry.value) > _MOST_RETRIES:
        raise entry.error(f"must be a number from 0 to {_MOST_RETRIES}")
    return int(entry.value)


def _quiet_time(entry: Property | None) -> float:
    """Longer than a task takes from one file of the default size to the next, on a disk of this century."""
    if entry is None:
        return 60.0
    try:
        seconds = parse_duration(entry.value)
    except ValueError as error:
        raise entry.error(f"invalid value '{entry.value}' for '{entry.name}': {error}") from error
    if seconds <= 0:
        raise entry.error(f"invalid value '{entry.value}' for '{entry.name}': it must be more than nothing")
    return seconds


def _least_age(procedure: str, properties: Mapping[str, Property]) -> str:
    """Trino's default: a week."""
    entry = properties.get(f"iceberg.{procedure.replace('_', '-')}.min-retention")
    if entry is None:
        return "7d"
    try:
        parse_duration(entry.value)
    except ValueError as error:
        raise entry.error(f"invalid value '{entry.value}' for '{entry.name}': {error}") from error
    return entry.value


def _listed(properties: Mapping[str, Property], name: str) -> tuple[str, ...]:
    return tuple(word for part in (_value(properties, name) or "").split(",") if (word := part.strip()))


def _login(settings: IcebergSettings) -> tuple[str | None, str | None]:
    parts = urlsplit(cast(str, settings.uri))
    user, password = (None if word is None else unquote(word) for word in (parts.username, parts.password))
    return settings.user or user, settings.password or password


def _with_login(settings: IcebergSettings) -> str:
    uri = cast(str, settings.uri)
    if settings.type != "sql" or settings.user is None or uri.startswith("sqlite"):
        return uri
    dialect, _, rest = uri.partition("://")
    login = ":".join(quote(word, safe="") for word in _login(settings) if word is not None)
    return f"{dialect}://{login}@{rest.rpartition('@')[2]}"
