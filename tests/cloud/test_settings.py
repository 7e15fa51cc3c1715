"""Storage properties of Google's and Azure's stores: what Arrow's file systems and Spark are given for them."""

from __future__ import annotations

import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from coordinator.connectors.iceberg.connector import FACTORY
from coordinator.connectors.iceberg.properties import pyiceberg_properties, read_settings
from coordinator.connectors.iceberg.rest.vended_keys import vended_keys
from coordinator.connectors.iceberg.storage import EXACT_FILE_IO
from coordinator.kernels.azure_store import azure_arguments, azure_place
from coordinator.kernels.errors import KernelError, reading
from coordinator.kernels.google_store import google_arguments
from coordinator.kernels.storage import over, properties_of, scoped
from coordinator.kernels.vended import is_refused_by_store
from coordinator.security.redaction import redacted, shown_value
from shared.properties import ConfigurationError, read_properties

HOST = "lake.dfs.core.windows.net"
EMULATED = {
    "blob_storage_authority": "127.0.0.1:10000", "dfs_storage_authority": "127.0.0.1:10000",
    "blob_storage_scheme": "http", "dfs_storage_scheme": "http",
}  # fmt: skip
KEY = {"adls.account-key": "a2V5"}
TEXT = "DefaultEndpointsProtocol=https;AccountName=lake;AccountKey=a2V5PT0=;EndpointSuffix=core.windows.net"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"adls.account-name": "lake", "adls.account-key": "a2V5"}, {"account_key": "a2V5"}),
        ({"adls.account-key": "a2V5"}, {"account_key": "a2V5"}),
        ({"adls.auth.shared-key.account.name": "lake", "adls.auth.shared-key.account.key": "a2V5"},
         {"account_key": "a2V5"}),
        ({f"adls.sas-token.{HOST}": "sv=1&sig=x"}, {"sas_token": "?sv=1&sig=x"}),
        ({"adls.sas-token.lake": "?sv=1&sig=x", "adls.account-key": "a2V5"}, {"sas_token": "?sv=1&sig=x"}),
        ({"adls.sas-token.lake.blob.core.windows.net": "sig=x"}, {"sas_token": "?sig=x"}),
        ({"adls.sas-token": "sig=x"}, {"sas_token": "?sig=x"}),
        ({"adls.connection-string": TEXT}, {"account_key": "a2V5PT0="}),
        ({f"adls.connection-string.{HOST}": "http://127.0.0.1:10000/lake"} | KEY, EMULATED | {"account_key": "a2V5"}),
        ({"adls.connection-string": "AccountName=lake;AccountKey=a2V5;BlobEndpoint=http://127.0.0.1:10000/lake;"},
         EMULATED | {"account_key": "a2V5"}),
        ({"adls.blob-storage-authority": "127.0.0.1:10000", "adls.blob-storage-scheme": "http"} | KEY,
         EMULATED | {"account_key": "a2V5"}),
    ],
)  # fmt: skip
def test_arrow_opens_an_account(options: dict[str, str], expected: dict[str, str]) -> None:
    assert azure_arguments(HOST, options) == {"account_name": "lake", **expected}


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("lake.dfs.core.chinacloudapi.cn", ".dfs.core.chinacloudapi.cn"),
        ("lake.z23.dfs.storage.azure.net", ".z23.dfs.storage.azure.net"),
        ("onelake.dfs.fabric.microsoft.com", ".dfs.fabric.microsoft.com"),
    ],
)
def test_other_clouds_than_the_public_one(host: str, expected: str) -> None:
    found = azure_arguments(host, KEY)
    assert found["dfs_storage_authority"] == expected
    assert found["blob_storage_authority"] == expected.replace("dfs", "blob")


@pytest.mark.parametrize(
    "host", ["lake.dfs.example.com", "evil.com", "lake.dfs.core.windows.net.evil.com", "127.0.0.1", "a/b", "lake"]
)
def test_hosts_that_only_a_location_names_get_nothing(host: str) -> None:
    options = {"adls.sas-token": "sig=x", "adls.account-key": "a2V5"}
    with pytest.raises(KernelError, match="not a host of Azure"):
        azure_arguments(host, options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"adls.account-name": "other", **KEY},
        {"adls.sas-token.another.dfs.core.windows.net": "sig=x"},
        {"adls.account-name": "another", "adls.sas-token": "sig=x"},
        {"adls.token": "t"},
        {"adls.tenant-id": "t", "adls.client-id": "c", "adls.client-secret": "s"},
        {"adls.account-key": "no key"},
        {"adls.account-key": "eHg"},
        {"adls.sas-token": "sig=é x"},
        KEY | {f"adls.connection-string.{HOST}": "http://h:99999/lake"},
        KEY | {f"adls.connection-string.{HOST}": "http://h x/lake"},
        KEY | {"adls.blob-storage-authority": "h:99999"},
    ],
)
def test_arrow_is_given_nothing_that_ends_the_process(options: dict[str, str]) -> None:
    """Arrow 26 aborts where a login fails, a key is not in base64, or a port is none."""
    with pytest.raises(KernelError, match=r"is needed|can be none|no address|not a host"):
        azure_arguments(HOST, options)


@pytest.mark.parametrize("host", ["ftp://h", "http://", "x y:::z", "http://h/é\n"])
def test_an_address_of_google_is_one(host: str) -> None:
    if host == "http://h/é\n":
        assert google_arguments({"gcs.service.host": host})["endpoint_override"] == "h"
        return
    with pytest.raises(KernelError, match="no address"):
        google_arguments({"gcs.service.host": host})


def test_a_host_that_the_properties_name() -> None:
    options = {"adls.account-host": "lake.dfs.example.com", "adls.account-key": "a2V5"}
    found = azure_arguments("lake.dfs.example.com", options)
    assert (found["blob_storage_authority"], found["account_key"]) == (".blob.example.com", "a2V5")


def test_one_account_by_all_schemes() -> None:
    for location in ("abfss://c@LAKE.dfs.core.windows.net/a/b?#", "wasbs://c@lake.blob.core.windows.net/a/b?#"):
        assert azure_place(location) == (HOST, "c/a/b?#")
    assert azure_place(f"abfs://c@{HOST}") == (HOST, "c")
    for location in ("abfss://c/a", "abfss://c@/a", f"abfss://c@d@{HOST}/a"):
        with pytest.raises(KernelError, match="abfss://container@account"):
            azure_place(location)


def test_arrow_opens_google() -> None:
    never = datetime(2100, 1, 1, tzinfo=UTC)
    cases: list[tuple[dict[str, str], dict[str, Any]]] = [
        ({}, {}),
        ({"gcs.no-auth": "true"}, {"anonymous": True}),
        ({"gcs.no-auth": "false"}, {}),
        ({"gcs.oauth2.token": "t"}, {"access_token": "t", "credential_token_expiration": never}),
        ({"gcs.oauth2.token": "t", "gcs.oauth2.token-expires-at": "1000"},
         {"access_token": "t", "credential_token_expiration": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)}),
        ({"gcs.service.host": "http://127.0.0.1:4443/"}, {"scheme": "http", "endpoint_override": "127.0.0.1:4443"}),
        ({"gcs.project-id": "p"}, {"project_id": "p"}),
    ]  # fmt: skip
    for options, expected in cases:
        found = google_arguments(options)
        del found["retry_time_limit"]
        assert found == expected


def test_lent_keys_replace_those_of_the_file_and_go_by_prefix() -> None:
    file = {"adls.account-name": "lake", "adls.account-key": "a2V5", "gcs.oauth2.token": "a", "gcs.project-id": "p"}
    end = {"gcs.oauth2.token-expires-at": "5"}
    assert over(file | end, {"gcs.oauth2.token": "b"}) == file | {"gcs.oauth2.token": "b"}
    assert over(file, {f"adls.sas-token.{HOST}": "s"}).get("adls.account-key") is None
    assert over(file, {f"adls.sas-token-expires-at-ms.{HOST}": "5"})["adls.account-key"] == "a2V5"
    given = scoped(f"abfss://c@{HOST}/t/", {f"adls.sas-token.{HOST}": "s"}) | file
    for location in (f"abfss://c@{HOST}/t/x", f"abfs://c@{HOST}/t", "wasbs://c@lake.blob.core.windows.net/t/x"):
        assert f"adls.sas-token.{HOST}" in properties_of(location, given)
    assert f"adls.sas-token.{HOST}" not in properties_of(f"abfss://c@{HOST}/tx", given)


def test_when_lent_keys_end() -> None:
    lent = {f"adls.sas-token.{HOST}": "s", f"adls.sas-token-expires-at-ms.{HOST}": "5000"}
    found = vended_keys({"adls.account-key": "a2V5"}, {}, [(f"abfss://c@{HOST}/t", lent)], 1.0)
    assert (found.is_vended, found.ends_at) == (True, 5.0)
    token = {"gcs.oauth2.token": "t", "gcs.oauth2.token-expires-at": "7000"}
    assert vended_keys({}, token, [], 1.0).ends_at == 7.0


def conf(tmp_path: Path, lines: str) -> dict[str, str]:
    file = tmp_path / "lake.properties"
    file.write_text(lines)
    found = FACTORY.spark_conf("lake", read_properties(file), tmp_path)
    return {name.removeprefix("spark.sql.catalog.lake."): value for name, value in found.items()}


def test_spark_gets_an_account_by_its_own_names(tmp_path: Path) -> None:
    lines = f"iceberg.catalog.warehouse=abfss://c@{HOST}/wh\n"
    given = conf(
        tmp_path, lines + "adls.account-key=k\nadls.blob-storage-authority=h:1\nadls.blob-storage-scheme=http\n"
    )
    assert given["io-impl"] == "org.apache.iceberg.azure.adlsv2.ADLSFileIO"
    assert given["adls.auth.shared-key.account.name"] == "lake"
    assert given["adls.auth.shared-key.account.key"] == "k"
    assert given[f"adls.connection-string.{HOST}"] == "http://h:1/lake"
    assert conf(tmp_path, lines + "adls.sas-token=sig=x\n")[f"adls.sas-token.{HOST}"] == "sig=x"
    assert conf(tmp_path, lines + f"adls.sas-token.{HOST}=sig=x\n")[f"adls.sas-token.{HOST}"] == "sig=x"
    text = conf(tmp_path, f"adls.connection-string={TEXT}\n")
    assert text["adls.auth.shared-key.account.key"] == "a2V5PT0="
    assert f"adls.connection-string.{HOST}" not in text


def test_the_coordinator_opens_files_of_both_by_arrow(tmp_path: Path) -> None:
    for warehouse in ("gs://b/wh", "gcs://b/wh", f"abfss://c@{HOST}/wh", "wasbs://c@lake.blob.core.windows.net/wh"):
        file = tmp_path / "lake.properties"
        file.write_text(f"iceberg.catalog.warehouse={warehouse}\n")
        settings = read_settings("lake", read_properties(file))
        assert pyiceberg_properties(settings)["py-io-impl"] == EXACT_FILE_IO


@pytest.mark.parametrize(
    "line", ["adls.token=x", "adls.client-secret=x", "adls.anon=true", "adls.account-kye=x", "gcs.oauth2.tokn=x"]
)
def test_what_nothing_would_read_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "lake.properties"
    file.write_text(line + "\n")
    with pytest.raises(ConfigurationError, match="unknown property"):
        read_settings("lake", read_properties(file))


def test_a_rest_catalog_that_lends_says_its_store_by_allowed_locations(tmp_path: Path) -> None:
    file = tmp_path / "lake.properties"
    rest = "iceberg.catalog.type=rest\niceberg.rest.uri=http://x\niceberg.catalog.warehouse=name\n"
    for place, module in (("gs://b/", "iceberg-gcp-bundle"), (f"abfss://c@{HOST}/", "iceberg-azure-bundle")):
        file.write_text(f"{rest}iceberg.allowed-locations={place}\n")
        assert [module in package for package in FACTORY.drivers("lake", read_properties(file)).packages] == [True]
        assert "spark.sql.catalog.lake.io-impl" not in FACTORY.spark_conf("lake", read_properties(file), tmp_path)


def test_signatures_are_shown_nowhere() -> None:
    address = (
        "GetProperties failed for 'http://h/a/c/x?se=2026&sig=81QNWo%3D&sp=r'. Azure Error: [AuthorizationFailure] 403"
    )
    assert "81QNWo" not in redacted(address)
    assert "403" in redacted(address)
    with pytest.raises(KernelError) as caught, reading("abfss://c@h/x"):
        raise OSError(address)
    assert "81QNWo" not in caught.value.message and "403" in caught.value.message
    assert "81QNWo" not in "".join(traceback.format_exception(caught.value)), "which executors write to their logs"
    for name in ("adls.connection-string", f"adls.sas-token.{HOST}", "adls.auth.shared-key.account.key"):
        assert shown_value(name, "hidden away") == "***"


def test_refusals_of_both_stores_are_known() -> None:
    for text in (
        "Azure Error: [AuthenticationFailed] 403 Server failed to authenticate the request.",
        "Azure Error: [InvalidAuthenticationInfo] 401 Server failed to authenticate the request.",
        "google::cloud::Status(UNAUTHENTICATED: Permanent error, with a last message of Invalid Credentials",
        "google::cloud::Status(PERMISSION_DENIED: Permanent error, with a last message of no",
    ):
        assert is_refused_by_store(text)
    assert not is_refused_by_store("Azure Error: [BlobNotFound] 404 The specified blob does not exist.")
