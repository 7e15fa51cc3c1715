"""Files of Azure's storage accounts (Data Lake Storage and Blob): ``abfss://container@account.dfs.core.windows.net/path``.

The host in a location says which account is meant, and anybody may write locations: what opens an account is sent to
Azure's own hosts, or to one that the storage properties themselves name. Source of the names of properties: Iceberg
1.11, ``AzureProperties`` (``adls.sas-token.<host>``), and PyIceberg's configuration (``adls.account-key``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from pyarrow import fs

from .errors import KernelError

SCHEMES = frozenset({"abfs", "abfss", "wasb", "wasbs"})
KEYS = ("adls.sas-token", "adls.account-key", "adls.auth.shared-key.")
"""How the names begin of what opens an account."""
_LOCATION = re.compile(r"(?:abfss?|wasbs?)://([^/@]+)@([^/@]+)(?:/(.*))?", re.DOTALL)
_HOST = re.compile(r"([a-z0-9-]+)((?:\.z\d+)?)\.(?:dfs|blob)\.([a-z0-9.-]+)")
_OF_AZURE = (
    *("core.windows.net", "core.chinacloudapi.cn", "core.usgovcloudapi.net", "storage.azure.net"),
    "fabric.microsoft.com",
)
_USUAL = "dfs.core.windows.net"
_ACCOUNT = re.compile(r"[a-z0-9-]{1,63}")
_AUTHORITY = re.compile(r"\.?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*(?::(?:[1-5]?\d{1,4}|6[0-4]\d{3}))?")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_SAS = re.compile(r"[!-~]+")


class Place(NamedTuple):
    """``host`` is that of the account's Data Lake endpoint; ``path`` begins with the container."""

    host: str
    path: str


def azure_place(location: str) -> Place:
    """Account and path of a location; raises KernelError for one that does not name both."""
    found = _LOCATION.fullmatch(location)
    if found is None:
        wanted = f"abfss://container@account.{_USUAL}/path"
        raise KernelError("NOT_SUPPORTED", f"A location in Azure is written {wanted}, not {location}")
    container, host, path = found.groups()
    return Place(data_lake_host(host), container if path is None else f"{container}/{path}")


def data_lake_host(host: str) -> str:
    """One form for the hosts of an account's two endpoints.

    >>> data_lake_host("Lake.blob.core.windows.net")
    'lake.dfs.core.windows.net'
    """
    return host.lower().replace(".blob.", ".dfs.", 1)


def azure_account(properties: Mapping[str, str], warehouse: str | None) -> Place | None:
    """The account that properties without a host are about: by name, else that of the warehouse; its path is empty."""
    text = _connection(properties)
    name = properties.get("adls.account-name") or properties.get("adls.auth.shared-key.account.name")
    if host := properties.get("adls.account-host"):
        return Place(data_lake_host(host), "")
    if (found := _LOCATION.fullmatch(warehouse or "")) is not None:
        return Place(data_lake_host(found[2]), "")
    name = name or text.get("accountname")
    return None if name is None else Place(f"{name}.{_USUAL}", "")


@lru_cache(maxsize=8)
def azure_files(host: str, items: tuple[tuple[str, str], ...]) -> fs.FileSystem:
    """Arrow's file system of an account; raises KernelError for what it cannot open, or must not."""
    return fs.AzureFileSystem(**azure_arguments(host, dict(items)))


def azure_arguments(host: str, options: Mapping[str, str]) -> dict[str, str]:
    """What opens the account of ``host`` with Arrow: a shared access signature before a key.

    Nothing else: where a login fails, and where a key or an address is none, Arrow's client ends the process.
    """
    name = host.partition(".")[0]
    endpoint = azure_endpoint(host, options)
    arguments = {"account_name": name, **_authorities(host, options, endpoint)}
    if not _ACCOUNT.fullmatch(name) or any(
        not _AUTHORITY.fullmatch(value) for part, value in arguments.items() if part.endswith("authority")
    ):
        raise KernelError("NOT_SUPPORTED", f"Storage properties of {host} hold no address")
    if (sas := _signature(host, options, endpoint)) is not None:
        return arguments | {"sas_token": _checked(_SAS, sas, f"the shared access signature of {host}")}
    if (key := shared_key(host, options)) is not None:
        return arguments | {"account_key": _checked(_BASE64, key, f"the key of {host}")}
    message = f"No key and no signature for {host}: adls.account-key or adls.sas-token.{host} is needed"
    raise KernelError("PERMISSION_DENIED", message)


def _checked(pattern: re.Pattern[str], value: str, what: str) -> str:
    if not pattern.fullmatch(value) or (pattern is _BASE64 and len(value) % 4):
        raise KernelError("PERMISSION_DENIED", f"What is given as {what} can be none")
    return value


def shared_key(host: str, options: Mapping[str, str]) -> str | None:
    """The key of an account, if there is one for it."""
    text, name = _connection(options), host.partition(".")[0]
    pairs = (
        (options.get("adls.account-name"), options.get("adls.account-key")),
        (options.get("adls.auth.shared-key.account.name"), options.get("adls.auth.shared-key.account.key")),
        (text.get("accountname"), text.get("accountkey")),
    )
    return next((key for whose, key in pairs if key is not None and whose in (name, None)), None)


def shared_access_signature(host: str, options: Mapping[str, str]) -> str | None:
    """The signature that properties have for an account, if there is one for it."""
    name = host.partition(".")[0]
    for of in (host, host.replace(".dfs.", ".blob.", 1), name):
        if token := options.get(f"adls.sas-token.{of}"):
            return token
    if options.get("adls.account-name", name) == name and (token := options.get("adls.sas-token")):
        return token
    text = _connection(options)
    return text.get("sharedaccesssignature") if text.get("accountname", name) == name else None


def azure_endpoint(host: str, options: Mapping[str, str]) -> SplitResult | None:
    """Where an account is that is not at its own host: an emulator's, by an address that ends with the account."""
    name = host.partition(".")[0]
    for of in (host, name):
        if address := options.get(f"adls.connection-string.{of}"):
            return urlsplit(address)
    authority = options.get("adls.blob-storage-authority", ".")
    if not authority.startswith(".") and options.get("adls.account-name", name) == name:
        return urlsplit(f"{options.get('adls.blob-storage-scheme', 'https')}://{authority}/{name}")
    text = _connection(options)
    address = text.get("blobendpoint") if text.get("accountname", name) == name else None
    return None if address is None else urlsplit(address)


def _signature(host: str, options: Mapping[str, str], endpoint: SplitResult | None) -> str | None:
    """With the "?" that it has at the end of an address: Arrow appends it as it is."""
    sas = shared_access_signature(host, options) or (endpoint.query if endpoint is not None else None)
    return f"?{sas.removeprefix('?')}" if sas else None


def _authorities(host: str, options: Mapping[str, str], endpoint: SplitResult | None) -> dict[str, str]:
    """Where Arrow finds both services of an account; one that begins with a point follows the account's name."""
    given = ("blob_storage_authority", "dfs_storage_authority", "blob_storage_scheme", "dfs_storage_scheme")
    own = {name: options[key] for name in given if (key := f"adls.{name.replace('_', '-')}") in options}
    if endpoint is not None and endpoint.path.strip("/"):
        where = {f"{of}_storage_authority": endpoint.netloc for of in ("blob", "dfs")}
        how = {f"{of}_storage_scheme": endpoint.scheme for of in ("blob", "dfs")}
        return where | how | own
    if endpoint is not None:
        host = data_lake_host(endpoint.netloc)
    found = _HOST.fullmatch(host)
    named = endpoint is not None or data_lake_host(options.get("adls.account-host", "")) == host
    if found is None or not (named or found[3] in _OF_AZURE):
        raise KernelError("NOT_SUPPORTED", f"{host} is not a host of Azure, and no storage property names it")
    if f"{found[2]}.dfs.{found[3]}" == f".{_USUAL}":
        return own
    return {f"{of}_storage_authority": f"{found[2]}.{of}.{found[3]}" for of in ("blob", "dfs")} | own


def _connection(options: Mapping[str, str]) -> dict[str, str]:
    """The parts of ``adls.connection-string``, Azure's own text for an account, by small names."""
    parts = (part.partition("=") for part in options.get("adls.connection-string", "").split(";") if part)
    return {name.strip().lower(): value.strip() for name, _, value in parts}
