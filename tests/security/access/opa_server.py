"""A small Open Policy Agent: real HTTP, decisions of a Python function."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Decide = Callable[[str, dict[str, Any]], Any]
"""The path and the input to ``result``; an int is a status, a float seconds to wait."""


class Opa:
    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.decide: Decide = lambda _path, _input: True

    def operations(self) -> list[str]:
        return [question["action"]["operation"] for _, question in self.asked]


@contextmanager
def opa_server() -> Iterator[Opa]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            opa.asked.append((self.path, body["input"]))
            result = opa.decide(self.path, body["input"])
            if isinstance(result, float):
                time.sleep(result)
            status = result if type(result) is int else 200
            answer = json.dumps({} if result is None else {"result": result}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    opa = Opa(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield opa
    finally:
        server.shutdown()
        server.server_close()
