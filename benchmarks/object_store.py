"""Queries over tables in an object store some milliseconds away, beside the same tables on the local disk, by turns.

``python -m benchmarks.object_store [SCALE] [ROUNDS] [MILLISECONDS]`` (scale 1, 3 rounds, 20 ms by default) loads TPC-H
into two catalogs. The warehouse of one is an S3 server: a program of its own over a folder, which answers each request
that much later. The small queries of ``interactive`` and TPC-H's 22 run on the embedded engine, warm. A JSON line a
query: milliseconds (medians) in the store and on disk, and the store's requests and bytes in the last round. The last
line has the geometric means and the largest ratio of the two.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import httpx
import pyarrow.parquet as pq
from aiohttp import web
from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.interactive import SMALL
from benchmarks.queries import HEADERS, ours, tpch_queries
from tests.data_sets.ssb import generate_tpch
from tests.e2e.service import Service, start_service, write_etc

_ROWS_A_FILE = 3_000_000
CATALOGS = ("store", "iceberg")


class Store:
    """S3 as far as Arrow and Iceberg ask for it: objects are files of a folder. No keys are looked at."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self._folder, self._seconds = folder, seconds
        self.requests = self.bytes = 0

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request."""
        if request.path == "/-/counts":
            return web.json_response([self.requests, self.bytes])
        await asyncio.sleep(self._seconds)
        self.requests += 1
        file = self._folder / request.path.lstrip("/")
        match request.method:
            case "GET" | "HEAD":
                return self._sent(request, file)
            case "PUT":
                return await self._put(request, file)
            case "POST":
                return self._post(request, file)
            case _:
                file.unlink(missing_ok=True)
                return web.Response(status=204)

    def _sent(self, request: web.BaseRequest, file: Path) -> web.StreamResponse:
        if "list-type" in request.query:
            return _xml("<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>")
        if not file.is_file():
            return web.Response(status=404)
        part = request.http_range
        start, stop = part.start or 0, min(part.stop or file.stat().st_size, file.stat().st_size)
        status = 206 if "Range" in request.headers else 200
        headers = {"ETag": '"1"', "Last-Modified": "Sat, 01 Jan 2000 00:00:00 GMT", "Accept-Ranges": "bytes"}
        if status == 206:
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{file.stat().st_size}"
        if request.method == "HEAD":
            return web.Response(status=200, headers={**headers, "Content-Length": str(stop - start)})
        self.bytes += stop - start
        with file.open("rb") as source:
            return web.Response(status=status, body=os.pread(source.fileno(), stop - start, start), headers=headers)

    async def _put(self, request: web.BaseRequest, file: Path) -> web.Response:
        if "partNumber" in request.query:
            file = self._folder / f"{request.query['uploadId']}-{int(request.query['partNumber']):05}"
        file.parent.mkdir(parents=True, exist_ok=True)
        body = await request.content.read()
        file.write_bytes(_plain(body) if "X-Amz-Decoded-Content-Length" in request.headers else body)
        return web.Response(headers={"ETag": '"1"'})

    def _post(self, request: web.BaseRequest, file: Path) -> web.Response:
        key = escape(request.path)
        if "uploads" in request.query:
            name = f"<Key>{key}</Key><UploadId>{uuid.uuid4().hex}</UploadId>"
            return _xml(f"<InitiateMultipartUploadResult>{name}</InitiateMultipartUploadResult>")
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as whole:
            for part in sorted(self._folder.glob(f"{request.query['uploadId']}-*")):
                whole.write(part.read_bytes())
                part.unlink()
        return _xml(f'<CompleteMultipartUploadResult><Key>{key}</Key><ETag>"1"</ETag></CompleteMultipartUploadResult>')


def _plain(chunked: bytes) -> bytes:
    """A body that its sender cut into chunks, each after its length (``aws-chunked``)."""
    parts, at = [], 0
    while True:
        line = chunked.index(b"\r\n", at)
        if not (length := int(chunked[at:line].partition(b";")[0], 16)):
            return b"".join(parts)
        parts.append(chunked[line + 2 : line + 2 + length])
        at = line + 2 + length + 2


def _xml(text: str) -> web.Response:
    return web.Response(text=f'<?xml version="1.0" encoding="UTF-8"?>{text}', content_type="application/xml")


async def serve(folder: Path, seconds: float) -> None:
    """Until the process is ended; the port is the first line."""
    runner = web.ServerRunner(web.Server(Store(folder, seconds)))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


def catalog_of(service: Service, name: str, address: str, home: Path) -> SqlCatalog:
    """Of either warehouse, for loading."""
    if name == "iceberg":
        return service.lake()
    options = {"uri": f"sqlite:///{home}/store.db", "warehouse": "s3://lake", **s3_options(address)}
    return SqlCatalog(name, **options)


def s3_options(address: str) -> dict[str, str]:
    """Of catalogs; the keys are any."""
    keys = {"s3.access-key-id": "key", "s3.secret-access-key": "secret", "s3.region": "us-east-1"}
    return {"s3.endpoint": address, **keys}


def load(service: Service, home: Path, scale: float, address: str) -> None:
    """The eight tables in both catalogs, in files of at most three million rows."""
    (home / "tpch").mkdir()
    generate_tpch(scale, home / "tpch")
    lakes = [catalog_of(service, name, address, home) for name in CATALOGS]
    for lake in lakes:
        lake.create_namespace_if_not_exists("tpch")
    for file in sorted((home / "tpch").glob("*.parquet")):
        rows = pq.read_table(file)
        tables = [lake.create_table(f"tpch.{file.stem}", schema=rows.schema) for lake in lakes]
        for start in range(0, rows.num_rows, _ROWS_A_FILE):
            for table in tables:
                table.append(rows.slice(start, _ROWS_A_FILE))
        file.unlink()


def compare(client: httpx.Client, address: str, name: str, query: str, rounds: int) -> dict[str, Any]:
    """One JSON line."""
    taken: dict[str, list[float]] = {catalog: [] for catalog in CATALOGS}
    asked: list[list[int]] = []
    for number in range(rounds + 1):
        found = []
        for catalog, times in taken.items():
            client.headers["X-Presto-Catalog"] = catalog
            before = httpx.get(f"{address}/-/counts").json()
            seconds, rows, _ = ours(client, query)
            found.append(rows)
            if number:
                times.append(seconds * 1000)
                after = httpx.get(f"{address}/-/counts").json()
                asked += [[b - a for a, b in zip(before, after, strict=True)]] if catalog == "store" else []
        assert found[0] == found[1], f"{name}: {found} rows"
    line = {catalog: round(statistics.median(times), 1) for catalog, times in taken.items()}
    requests, size = asked[-1]
    ratio = round(line["store"] / line["iceberg"], 2)
    return {"query": name, **line, "ratio": ratio, "requests": requests, "megabytes": round(size / 1e6, 1)}


def run(home: Path, scale: float, rounds: int, milliseconds: float) -> list[dict[str, Any]]:
    """The lines, printed as they come."""
    arguments = [sys.executable, "-m", "benchmarks.object_store", "serve", str(home / "objects"), str(milliseconds)]
    (home / "objects" / "lake").mkdir(parents=True)
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        etc = write_etc(home / "etc", spark=False)
        (etc / "catalog" / "store.properties").write_text(
            "connector.name=iceberg\niceberg.catalog.type=sql\n"
            f"iceberg.catalog.uri=sqlite:///{home}/store.db\niceberg.catalog.warehouse=s3://lake\n"
            + "".join(f"{key}={value}\n" for key, value in s3_options(address).items())
        )
        SqlCatalog("store", uri=f"sqlite:///{home}/store.db", warehouse="s3://lake")
        service = start_service(etc, home / "data", home / "log")
        try:
            load(service, home, scale, address)
            lines = []
            session = {**HEADERS, "X-Presto-Session": "engine=EMBEDDED"}
            with httpx.Client(base_url=service.url, timeout=600, headers=session) as client:
                for name, query in {**SMALL, **tpch_queries([])}.items():
                    lines.append(compare(client, address, name, query, rounds))
                    print(json.dumps(lines[-1]), flush=True)
            return lines
        finally:
            service.stop()
            server.terminate()


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(Path(sys.argv[2]), float(sys.argv[3]) / 1000))
        return
    scale, rounds, milliseconds = (float(v) for v in [*sys.argv[1:4], *("1", "3", "20")[len(sys.argv) - 1 :]])
    with tempfile.TemporaryDirectory() as folder:
        lines = run(Path(folder), scale, int(rounds), milliseconds)
    means = {f"{c}_geomean": round(statistics.geometric_mean([line[c] for line in lines]), 1) for c in CATALOGS}
    worst = max(line["ratio"] for line in lines)
    print(json.dumps({"bench": "object_store", "scale": scale, "milliseconds": milliseconds, **means, "worst": worst}))


if __name__ == "__main__":
    main()
