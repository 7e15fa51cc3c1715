"""DoPut without a server: which rows an update runs with, and how much a client may send."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pyarrow as pa
import pytest

from coordinator.flight.backend import Backend
from coordinator.flight.call import Call
from coordinator.flight.callers import Caller
from coordinator.flight.failures import CallError
from coordinator.flight.messages import packed
from coordinator.flight.prepared import Prepared, PreparedStatements
from coordinator.flight.session_options import of_cookies
from coordinator.flight.settings import FlightSettings
from coordinator.flight.wire import Fields, message
from coordinator.flight.writing import Writing
from coordinator.vocabulary.planned_statement import SessionChange
from shared.spi.session import Session
from tests.flight.test_ipc import sent

ALICE = Caller(Session("alice"))
NEEDS = pa.schema([("p", pa.int64())])
COMMAND = "CommandPreparedStatementUpdate"


class Client:
    """Sends these messages, keeps what comes."""

    def __init__(self, *messages):
        self.left, self.got, self.metadata = list(messages), [], []

    async def read(self):
        return self.left.pop(0) if self.left else object()

    async def write(self, message):
        self.got.append(message)

    async def send_initial_metadata(self, metadata):
        assert not self.got
        self.metadata += metadata


class Lake:
    """Remembers what runs; every update changes one row."""

    def __init__(self, **settings):
        self.ran, self.changes, self.prepared = [], {}, PreparedStatements(5, 10.0)
        chosen = FlightSettings.model_validate(settings)
        self.backend = Backend(None, self, SimpleNamespace(run=_awaited), self.prepared, chosen, {})

    async def update(self, _, text):
        self.ran.append(text)
        return 1, self.changes.get(text, SessionChange())

    def put(self, handle, data, command=COMMAND):
        """The rows that it says were changed."""
        head = (1, message((1, 2), (2, packed(command, message((1, handle))))))
        messages = [message(head)] + [message((2, each.header), (1000, each.body)) for each in data]
        client = Client(*messages)
        asyncio.run(Writing(self.backend).put(Call(client, 5.0, 5.0), ALICE))
        self.metadata = client.metadata
        return Fields(Fields(client.got[0]).data(1)).data(1) if command != COMMAND else count(client.got[0])


async def _awaited(work):
    return await work


def count(answer):
    return Fields(Fields(answer).data(1)).integer(1)


def rows(*values):
    return pa.record_batch({"p": pa.array(values, pa.int64())})


def test_a_statement_that_changes_the_session_brings_a_cookie():
    lake = Lake()
    lake.changes["USE c.s"] = SessionChange(set_catalog="c", set_schema="s")
    for text, said in (("USE c.s", {"catalog": "c", "schema": "s"}), ("DELETE", None)):
        handle = lake.prepared.keep(ALICE, Prepared(text, None, None))
        assert lake.put(handle, []) == 1
        cookies = [of_cookies(value.partition(";")[0]) for name, value in lake.metadata if name == "set-cookie"]
        assert cookies == ([] if said is None else [said])


def test_no_rows_run_nothing_and_no_columns_run_what_is_bound():
    lake = Lake()
    handle = lake.prepared.keep(ALICE, Prepared("DELETE", None, NEEDS, (("7",),)))
    assert lake.put(handle, sent(rows())) == 0
    assert lake.put(handle, sent(rows())[:1]) == 0
    assert lake.ran == []
    without = pa.record_batch([], schema=pa.schema([]))
    assert lake.put(handle, []) == lake.put(handle, sent(without)) == 1
    assert lake.ran == ["EXECUTE IMMEDIATE 'DELETE' USING 7"] * 2
    assert lake.put(handle, sent(rows(1, 2), rows(3))) == 3
    assert lake.ran[2:] == [f"EXECUTE IMMEDIATE 'DELETE' USING {n}" for n in (1, 2, 3)]


def test_a_statement_with_and_one_without_parameters():
    lake = Lake()
    with pytest.raises(CallError, match="needs parameters"):
        lake.put(lake.prepared.keep(ALICE, Prepared("DELETE", None, NEEDS)), [])
    assert lake.put(lake.prepared.keep(ALICE, Prepared("DELETE", None, None)), []) == 1
    assert lake.ran == ["DELETE"]


def test_parameters_that_are_bound():
    lake = Lake()
    handle = lake.prepared.keep(ALICE, Prepared("SELECT", NEEDS, NEEDS))
    assert lake.put(handle, sent(rows(5)), "CommandPreparedStatementQuery") == handle
    assert lake.prepared.find(ALICE, handle).bound == (("5",),)
    lake.put(handle, sent(rows()), "CommandPreparedStatementQuery")
    assert lake.prepared.find(ALICE, handle).bound == ()


def test_messages_in_excess_are_refused_and_compressed_ones_taken():
    lake = Lake(parameter_rows=5)
    handle = lake.prepared.keep(ALICE, Prepared("DELETE", None, NEEDS))
    assert lake.put(handle, sent(*[rows(1)] * 5)) == 5
    with pytest.raises(CallError, match="More than 0 rows"):
        lake.put(handle, sent(*[rows(1)] * 6))
    with pytest.raises(CallError, match="too many messages"):
        lake.put(handle, sent(*[rows()] * 20))
    assert len(lake.ran) == 5
    assert lake.put(handle, sent(rows(1), compression="zstd")) == 1
    assert lake.ran[-1] == lake.ran[0]


class Trickling(Client):
    """Always has one more message, a little later."""

    async def read(self):
        await asyncio.sleep(0.02)
        return message((3, b"x"))


def test_one_deadline_for_all_messages_of_a_call():
    async def receive():
        call, count = Call(Trickling(), 0.2, 5.0), 0
        while await call.next() is not None:
            count += 1
            assert count < 100

    with pytest.raises(TimeoutError):
        asyncio.run(receive())
