"""Sessions for writes on a server that has just ended: told as any other statement on it."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from coordinator.engine.spark.connection import Connection
from coordinator.engine.spark.progress import ProgressRelay
from coordinator.engine.spark.writers import WriterSessions
from shared.errors import ErrorCode, ProcessionError

GONE = "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n\tdetails = ...>"


class Silent:
    """A session whose server is gone before its first setting."""

    def __init__(self) -> None:
        self.conf = self

    def set(self, _name: str, _value: str) -> None:
        raise SparkConnectGrpcException(GONE)


def refuse(*_: Any) -> Any:
    raise SparkConnectGrpcException(GONE)


@pytest.mark.parametrize("make", [refuse, lambda *_: Silent()], ids=["no session", "no setting"])
def test_a_server_that_is_gone_is_told_as_such(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordinator.engine.spark.writers.drop_session", lambda *_, **__: None)
    nothing: Any = None
    main = Connection(nothing, None, 1, ProgressRelay())
    with pytest.raises(ProcessionError) as lost, WriterSessions(make).session(main, "q", {}):
        raise AssertionError("nothing was opened")
    assert (lost.value.code, lost.value.retriable) == (ErrorCode.REMOTE_HOST_GONE, True)
