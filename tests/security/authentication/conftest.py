"""One service for all tests of this folder; what they change, they change back."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests import tpch_tables
from tests.certificates import authority
from tests.e2e.service import open_flight, start_service, write_etc
from tests.security.authentication.identity_provider import SECRET, IdentityProvider, identity_provider
from tests.security.authentication.secured import (
    CONFIG,
    MAPPING,
    PASSWORD,
    RULES,
    Secured,
    said_nothing,
    write_passwords,
)


@pytest.fixture(scope="session")
def provider() -> Iterator[IdentityProvider]:
    with identity_provider() as running:
        yield running


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory, provider: IdentityProvider) -> Iterator[Secured]:
    home = tmp_path_factory.mktemp("secured")
    etc = write_etc(home / "etc", spark=False)
    signer = authority(etc / "ca.pem")
    signer.sign(etc / "server.pem", "first")
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    (etc / "jwt.pem").write_bytes(public)
    with (etc / "config.properties").open("a") as config:
        config.write(CONFIG + f"http-server.authentication.oauth2.issuer={provider.url}\n")
    open_flight(etc)
    (etc / "catalog" / "tpch.properties").write_text(tpch_tables.catalog_file())
    (etc / "mapping.json").write_text(MAPPING)
    (etc / "rules.json").write_text(RULES)
    (etc / "access-control.properties").write_text(
        "access-control.name=file\nsecurity.config-file=rules.json\nsecurity.refresh-period=100ms\n"
    )
    (etc / "password-authenticator.properties").write_text(
        "password-authenticator.name=file\nfile.password-file=passwords\nfile.refresh-period=100ms\n"
    )
    write_passwords(etc / "passwords", alice=PASSWORD, bob=PASSWORD, gateway=PASSWORD)
    service = start_service(etc, home / "data", home / "log")
    assert service.process.stdout is not None
    second = service.process.stdout.readline().split()[-1]
    port = int(second.rpartition(":")[2])
    with ThreadPoolExecutor(1) as threads:  # ten seconds, while others ask
        silent = threads.submit(said_nothing, port)
        yield Secured(service, service.url, port, signer, home, key, provider, silent)
    assert service.stop() == 0, (home / "log").read_text()
    log = (home / "log").read_text()
    assert not [word for word in (PASSWORD, SECRET, "Traceback") if word in log], log
