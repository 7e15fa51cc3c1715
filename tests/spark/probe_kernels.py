"""Kernels of these tests; written into the kernels package of the server under test."""

import json
import os
import time


def where(payload: bytes) -> bytes:
    """Sleep as many seconds as the payload says; the process, and when it worked."""
    begun = time.time()
    time.sleep(float(payload))
    return json.dumps({"pid": os.getpid(), "begun": begun, "ended": time.time()}).encode()


def echo(payload: bytes) -> bytes:
    return payload


def split(payload: bytes):
    """Many answers of one task."""
    yield from (bytes([byte]) for byte in payload)


def refuse(payload: bytes) -> bytes:
    from procession_kernels.errors import KernelError

    raise KernelError("NOT_FOUND", payload.decode())


def crash(payload: bytes) -> bytes:
    raise ValueError("unexpected: " + payload.decode())


def full_disk(payload: bytes) -> bytes:
    raise OSError(28, "No space left on device")
