"""Avro container files opened quickly: what a schema means is worked out once, not once a file.

Manifests of a table say the same schema; PyIceberg builds it, and readers for it, anew for each of them, which takes
longer than reading a small one. Source: Apache Avro 1.12 specification, "Object Container Files".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from pyiceberg.avro.codecs import AVRO_CODEC_KEY, KNOWN_CODECS
from pyiceberg.avro.codecs.codec import Codec
from pyiceberg.avro.decoder import BinaryDecoder
from pyiceberg.io import InputFile
from pyiceberg.schema import Schema
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from coordinator.connectors.iceberg.manifests.checked_decoder import checked_decoder
from coordinator.connectors.iceberg.traced_services import store_call

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16


@dataclass(frozen=True, slots=True)
class OpenedAvro:
    """A file read into memory up to its first block; ``schema_text`` is a key for what is kept by schema."""

    schema_text: str
    decoder: BinaryDecoder
    codec: type[Codec] | None
    sync: bytes

    @property
    def schema(self) -> Schema:
        return iceberg_schema(self.schema_text)

    def blocks(self) -> Iterator[tuple[int, BinaryDecoder]]:
        """Each block, once, as its number of records and a decoder over them; raises ValueError for a broken file."""
        decoder = self.decoder
        while True:
            try:
                count = decoder.read_int()
            except EOFError:
                return
            data = decoder.read_bytes()
            yield count, checked_decoder(self.codec.decompress(data) if self.codec else data)
            if decoder.read(_SYNC_BYTES) != self.sync:
                raise ValueError(f"Expected sync bytes {self.sync!r} after a block of Avro records")


def open_avro(source: InputFile, data: bytes | None = None) -> OpenedAvro:
    """Read a whole file, or its bytes as ``data``.

    Raises what its file system raises, ValueError for what is no Avro file of Iceberg's.
    """
    if data is None:
        with store_call("read", source.location), source.open() as stream:
            data = stream.read()
    decoder = checked_decoder(data)
    if decoder.read(len(_MAGIC)) != _MAGIC:
        raise ValueError(f"Not an Avro file: {source.location}")
    said: dict[str, bytes] = {}
    while count := decoder.read_int():
        if count < 0:
            decoder.skip_int()
        for _ in range(abs(count)):
            name = decoder.read_utf8()
            said[name] = decoder.read_bytes()
    if "avro.schema" not in said:
        raise ValueError(f"No schema in the header of {source.location}")
    codec = said.get(AVRO_CODEC_KEY, b"null").decode()
    if codec not in KNOWN_CODECS:
        raise ValueError(f"Unsupported codec: {codec}")
    return OpenedAvro(said["avro.schema"].decode(), decoder, KNOWN_CODECS[codec], decoder.read(_SYNC_BYTES))


@contextmanager
def decoding(location: str) -> Iterator[None]:
    """Raise ValueError that names the file for whatever decoders make of broken bytes; storage's errors stay."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ValueError(f"{location} is broken: {lines[0]}") from error


@lru_cache(maxsize=256)
def iceberg_schema(text: str) -> Schema:
    """The Iceberg schema of an Avro schema in JSON."""
    return AvroSchemaConversion().avro_to_iceberg(json.loads(text))
