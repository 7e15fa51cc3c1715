"""Files of an S3 store whose requests a catalog server signs: whoever opens them has no key of the store.

Source: ``S3SignRequest`` and ``S3SignResponse`` of Iceberg's ``s3-signer-open-api.yaml``. A signature of a GET without
``Range`` serves every range of the file, so a file costs one request to the signer while it holds.
"""

from __future__ import annotations

import io
import json
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import cast
from urllib.parse import quote, urlencode, urlsplit

import pyarrow as pa
from pyarrow import fs

ADDRESS, TOKEN, ENABLED = "s3.signer.address", "s3.signer.token", "s3.remote-signing-enabled"
"""Our own names for the signer's whole address and for the bearer token that it wants (empty: none)."""
_HOLDS = 600.0
"""Seconds for which a signature of a GET is used again: stores take them for fifteen minutes."""
_SECONDS = 60.0
_PART = 8 << 20
"""Bytes of a part of an upload, and of the least that is read at once."""
_TRIES = 3
_LATER = (429, 500, 502, 503, 504)
_XML = 16 << 20
"""Bytes of the longest list of names that is read."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A store's or signer's answer; header names are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class SignedRequests:
    """Requests to one store; thread-safe. Raises OSError, FileNotFoundError for 404."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._endpoint = options.get("s3.endpoint", "").rstrip("/")
        self._region = options.get("s3.region") or options.get("client.region") or "us-east-1"
        self._in_path = bool(self._endpoint) and options.get("s3.path-style-access", "true").lower() != "false"
        self._signer, self._token = options[ADDRESS], options.get(TOKEN, "")
        self._reads: dict[str, tuple[float, str, dict[str, str]]] = {}
        self._lock = threading.Lock()

    def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        extra: Mapping[str, str] | None = None,
    ) -> Answer:
        """``path`` is bucket and key; ``extra`` are headers that need no signature."""
        url = self._url(path) + ("?" + urlencode(query, quote_via=quote) if query else "")
        answer = Answer(0, {}, b"")
        for left in reversed(range(_TRIES)):
            signed_url, headers = self._signed(method, url)
            answer = _send(method, signed_url, {**headers, **(extra or {})}, body)
            if answer.status not in _LATER or not left:
                break
            time.sleep(0.2 * (_TRIES - left))
        if answer.status == 404:
            raise FileNotFoundError(f"No such file: s3://{path}")
        if answer.status >= 400:
            raise OSError(f"The store answers {method} of s3://{path} with status {answer.status}: {_code(answer)}")
        return answer

    def _url(self, path: str) -> str:
        bucket, _, key = path.partition("/")
        where = quote(key, safe="/-_.~")
        if self._in_path:
            return f"{self._endpoint}/{bucket}/{where}"
        host = urlsplit(self._endpoint or f"https://s3.{self._region}.amazonaws.com")
        return f"{host.scheme}://{bucket}.{host.netloc}/{where}"

    def _signed(self, method: str, url: str) -> tuple[str, dict[str, str]]:
        with self._lock:
            known = self._reads.get(url) if method == "GET" else None
        if known is not None and time.monotonic() < known[0]:
            return known[1], known[2]
        headers = {"Host": urlsplit(url).netloc, "x-amz-content-sha256": "UNSIGNED-PAYLOAD"}
        asked = {"region": self._region, "method": method, "uri": url, "headers": {k: [v] for k, v in headers.items()}}
        login = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        content = {"Content-Type": "application/json", **login}
        answer = _send("POST", self._signer, content, json.dumps(asked).encode())
        if answer.status != 200:
            raise OSError(f"The catalog does not sign {method} of {url.partition('?')[0]}: status {answer.status}")
        try:
            answered = json.loads(answer.body)
            given = {name: ", ".join(values) for name, values in answered["headers"].items()}
            signed = str(answered.get("uri", url))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise OSError(f"The catalog's signature of {method} cannot be read: {type(error).__name__}") from error
        found = {**{k: v for k, v in headers.items() if k.lower() not in {n.lower() for n in given}}, **given}
        if urlsplit(signed)[:2] != urlsplit(url)[:2]:
            raise OSError(f"The catalog signed a request to another host than {urlsplit(url).netloc}")
        with self._lock:
            if method == "GET":
                self._reads = self._reads if len(self._reads) < 1000 else {}
                self._reads[url] = (time.monotonic() + _HOLDS, signed, found)
        return signed, found


class SignedStore(fs.FileSystemHandler):
    """Arrow's file system over such requests. Listing works only where the signer signs requests for lists."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._requests = SignedRequests(options)
        self._name = f"signed {options.get('s3.endpoint', 's3')} {options[ADDRESS]}"

    def get_type_name(self) -> str:
        return "signed-s3"

    def normalize_path(self, path: str) -> str:
        return path

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SignedStore) and self._name == other._name

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._name)

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> fs.FileInfo:
        try:
            answer = self._requests.ask("HEAD", path)
        except FileNotFoundError:
            return fs.FileInfo(path, fs.FileType.NotFound)
        size = answer.headers.get("content-length", "")
        if not size.isdecimal():
            raise OSError(f"The store does not tell the size of s3://{path}")
        return fs.FileInfo(path, fs.FileType.File, size=int(size))

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        bucket, _, prefix = selector.base_dir.strip("/").partition("/")
        query = {"list-type": "2", "prefix": f"{prefix}/"} | ({} if selector.recursive else {"delimiter": "/"})
        found: list[fs.FileInfo] = []
        while True:
            answer = self._requests.ask("GET", f"{bucket}/", query)
            if len(answer.body) > _XML:
                raise OSError(f"The list of s3://{selector.base_dir} is too long")
            root = ElementTree.fromstring(answer.body)  # noqa: S314 - of the store that holds the data
            found += [_listed(bucket, item) for item in root.iter() if item.tag.endswith("}Contents")]
            more = next((item.text for item in root.iter() if item.tag.endswith("}NextContinuationToken")), None)
            if not more:
                return found
            query["continuation-token"] = more

    def create_dir(self, path: str, recursive: bool) -> None:
        """A store has no folders."""

    def delete_file(self, path: str) -> None:
        self._requests.ask("DELETE", path)

    def open_input_file(self, path: str) -> pa.NativeFile:
        info = self._info(path)
        if info.size is None:
            raise FileNotFoundError(f"No such file: s3://{path}")
        return pa.PythonFile(io.BufferedReader(_Reading(self._requests, path, info.size), 1 << 20), mode="r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self.open_input_file(path)

    def open_output_stream(self, path: str, metadata: object = None) -> pa.NativeFile:
        return pa.PythonFile(_Writing(self._requests, path), mode="w")

    def open_append_stream(self, path: str, metadata: object = None) -> pa.NativeFile:
        raise _refused("append to", path)

    # ruff: noqa: ARG002 - Arrow gives these arguments
    def delete_dir(self, path: str) -> None:
        raise _refused("delete a folder", path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise _refused("empty a folder", path)

    def delete_root_dir_contents(self) -> None:
        raise _refused("empty a store", "")

    def move(self, src: str, dest: str) -> None:
        raise _refused("move", src)

    def copy_file(self, src: str, dest: str) -> None:
        raise _refused("copy", src)


class _Reading(io.RawIOBase):
    def __init__(self, requests: SignedRequests, path: str, size: int) -> None:
        self._requests, self._path, self._size, self._at = requests, path, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer)).cast("B")
        count = max(0, min(len(view), self._size - self._at))
        if not count:
            return 0
        wanted = {"Range": f"bytes={self._at}-{self._at + count - 1}"}
        answer = self._requests.ask("GET", self._path, extra=wanted)
        body = answer.body if answer.status == 206 else answer.body[self._at : self._at + count]
        view[: len(body)] = body
        self._at += len(body)
        return len(body)


class _Writing(io.RawIOBase):
    """One PUT, or an upload in parts; nothing is to be seen before it is closed."""

    def __init__(self, requests: SignedRequests, path: str) -> None:
        self._requests, self._path = requests, path
        self._held = bytearray()
        self._upload: str | None = None
        self._parts: list[str] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        view = memoryview(cast("bytes", data)).cast("B")
        self._held += view
        while len(self._held) > _PART:
            self._send_part(bytes(self._held[:_PART]))
            del self._held[:_PART]
        return len(view)

    def close(self) -> None:
        if self.closed:
            return
        try:
            if self._upload is None:
                self._requests.ask("PUT", self._path, body=bytes(self._held))
            else:
                self._send_part(bytes(self._held))
                self._complete(self._upload)
        finally:
            super().close()

    def _send_part(self, body: bytes) -> None:
        if self._upload is None:
            root = ElementTree.fromstring(self._requests.ask("POST", self._path, {"uploads": ""}).body)  # noqa: S314
            self._upload = next(item.text or "" for item in root.iter() if item.tag.endswith("UploadId"))
        query = {"partNumber": str(len(self._parts) + 1), "uploadId": self._upload}
        self._parts.append(self._requests.ask("PUT", self._path, query, body).headers["etag"])

    def _complete(self, upload: str) -> None:
        root = ElementTree.Element("CompleteMultipartUpload")
        for number, tag in enumerate(self._parts, start=1):
            part = ElementTree.SubElement(root, "Part")
            ElementTree.SubElement(part, "PartNumber").text = str(number)
            ElementTree.SubElement(part, "ETag").text = tag
        answer = self._requests.ask("POST", self._path, {"uploadId": upload}, ElementTree.tostring(root))
        if b"<Error>" in answer.body:  # which S3 may answer with status 200
            raise OSError(f"The store did not complete s3://{self._path}: {_code(answer)}")


def _send(method: str, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise OSError(f"No address of a store or signer: {parts.scheme}://{parts.netloc}")
    kind: Callable[..., HTTPConnection] = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname, parts.port, timeout=_SECONDS)
    try:
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body or (b"" if method in ("PUT", "POST") else None), dict(headers))
        answer = connection.getresponse()
        return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    except HTTPException as error:
        raise OSError(f"{parts.netloc} did not answer rightly: {type(error).__name__}") from error
    finally:
        connection.close()


def _listed(bucket: str, item: ElementTree.Element) -> fs.FileInfo:
    fields = {child.tag.rpartition("}")[2]: child.text or "" for child in item}
    modified = datetime.fromisoformat(fields["LastModified"].replace("Z", "+00:00")).astimezone(UTC)
    path = f"{bucket}/{fields['Key']}"
    return fs.FileInfo(path, fs.FileType.File, size=int(fields["Size"]), mtime=modified)


def _code(answer: Answer) -> str:
    """The store's word for what is wrong, such as AccessDenied."""
    found = answer.body.partition(b"<Code>")[2].partition(b"</Code>")[0]
    return found.decode(errors="replace")[:100] or "no reason given"


def _refused(what: str, path: str) -> OSError:
    return OSError(f"Cannot {what} where a catalog signs requests: s3://{path}")
