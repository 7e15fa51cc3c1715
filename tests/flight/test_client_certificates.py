"""Certificates of clients over Flight SQL, where they are the one way to say who one is."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from pyarrow import flight as fl

from coordinator.flight.messages import packed
from coordinator.flight.tls import load_credentials
from coordinator.flight.wire import message
from coordinator.security.access_control.built_in import AllowAll
from coordinator.security.authentication.authentication import Authentication
from coordinator.security.authentication.certificate_authenticator import CertificateAuthenticator
from coordinator.security.settings import HttpsSettings
from coordinator.server.settings import ServerSettings
from tests.certificates import authority
from tests.flight.conftest import running_flight

QUERY = packed("CommandStatementQuery", message((1, "SELECT 1")))


def settings(folder: Path, truststore: str = "ca.pem", key: str | None = None) -> HttpsSettings:
    return HttpsSettings(enabled=True, keystore_path="server.pem", truststore_path=truststore, truststore_key=key)


def rows(uri: str, folder: Path, who: Path | None) -> int:
    options = {"tls_root_certs": (folder / "ca.pem").read_bytes()}
    if who is not None:
        options |= {"cert_chain": who.read_bytes(), "private_key": who.read_bytes()}
    with fl.connect(uri, **options) as client:
        info = client.get_flight_info(fl.FlightDescriptor.for_command(QUERY))
        return client.do_get(info.endpoints[0].ticket).read_all().num_rows


def test_the_subject_is_who_calls(tmp_path):
    signer, other = authority(tmp_path / "ca.pem"), authority(tmp_path / "other.pem", "Other CA")
    signer.sign(tmp_path / "server.pem", "localhost")
    alice, stranger = signer.sign(tmp_path / "alice.pem", "alice", "lake"), other.sign(tmp_path / "eve.pem", "eve")
    store = pkcs12.serialize_java_truststore(
        [pkcs12.PKCS12Certificate(signer.certificate, b"ca")], serialization.BestAvailableEncryption(b"secret")
    )
    (tmp_path / "trust.p12").write_bytes(store)
    served = ServerSettings(
        authentication=Authentication((CertificateAuthenticator(lambda name: "alice"),), AllowAll())
    )
    for chosen in (settings(tmp_path), settings(tmp_path, "trust.p12", "secret")):
        credentials = load_credentials(tmp_path, chosen, ("CERTIFICATE",))
        with running_flight(server_settings=served, credentials=credentials) as flight:
            assert rows(flight.uri, tmp_path, alice) == 1
            session = flight.newest().session
            assert (session.user, session.principal) == ("alice", "CN=alice,OU=lake")
            for nobody in (None, stranger):
                with pytest.raises(fl.FlightError):
                    rows(flight.uri, tmp_path, nobody)


def test_beside_other_ways_nobody_is_asked_for_one(tmp_path):
    authority(tmp_path / "ca.pem").sign(tmp_path / "server.pem", "localhost")
    credentials = load_credentials(tmp_path, settings(tmp_path), ("PASSWORD", "CERTIFICATE"))
    with (
        running_flight(credentials=credentials) as flight,
        fl.connect(flight.uri, tls_root_certs=(tmp_path / "ca.pem").read_bytes()) as client,
    ):
        options = fl.FlightCallOptions(headers=[(b"x-presto-user", b"bob")])
        client.get_flight_info(fl.FlightDescriptor.for_command(QUERY), options)
        assert flight.newest().session.user == "bob"
