"""How a Spark of others is reached: TLS with authorities of the operator's, which pyspark cannot be told."""

from __future__ import annotations

from pathlib import Path

import grpc
from pyspark.sql.connect.client.core import DefaultChannelBuilder

from coordinator.engine.spark.remote_address import read_trust_store


def channel_builder(url: str, trust_store: Path | None) -> DefaultChannelBuilder:
    """Of pyspark, or of ours where authorities are given. Raises ConfigurationError."""
    return DefaultChannelBuilder(url) if trust_store is None else _Trusting(url, read_trust_store(trust_store))


class _Trusting(DefaultChannelBuilder):  # type: ignore[misc]
    """Trusts these authorities and no others."""

    def __init__(self, url: str, authorities: bytes) -> None:
        super().__init__(url)
        self._authorities = authorities

    def toChannel(self) -> grpc.Channel:  # noqa: N802 - pyspark's name
        credentials = grpc.ssl_channel_credentials(self._authorities)
        if self.token is not None:
            token = grpc.access_token_call_credentials(self.token)
            credentials = grpc.composite_channel_credentials(credentials, token)
        return self._secure_channel(self.endpoint, credentials)
