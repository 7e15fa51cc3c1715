import random
import threading

import pytest

from coordinator.dispatch.buffer import PageBuffer
from coordinator.dispatch.pages import Chunk
from coordinator.dispatch.result_space import ResultSpace

pytestmark = pytest.mark.slow


def chunk(size, rows=1):
    return Chunk(b"x" * size, rows)


def test_take_returns_whole_chunks_up_to_a_size_and_at_least_one():
    buffer = PageBuffer(1000, lambda: None)
    for size in (10, 20, 500, 5):
        assert buffer.put(chunk(size))
    assert [len(c.data) for c in buffer.take(40)] == [10, 20]
    assert [len(c.data) for c in buffer.take(40)] == [500]
    assert buffer.size == 5
    assert not buffer.drained
    buffer.finish()
    assert not buffer.drained
    assert [len(c.data) for c in buffer.take(40)] == [5]
    assert buffer.drained
    assert buffer.take(40) == []


def test_put_blocks_until_the_client_takes():
    notified = []
    buffer = PageBuffer(100, lambda: notified.append(1))
    order = []

    def produce():
        for number in range(5):
            buffer.put(chunk(60))
            order.append(number)

    producer = threading.Thread(target=produce)
    producer.start()
    while len(order) < 2:
        pass
    producer.join(0.05)
    assert order == [0, 1]
    assert buffer.size == 120
    taken = 0
    while taken < 5:
        taken += len(buffer.take(1))
    producer.join(60)
    assert order == [0, 1, 2, 3, 4]
    assert len(notified) == 5


def test_close_drops_rows_and_releases_the_producer():
    buffer = PageBuffer(10, lambda: None)
    buffer.put(chunk(20))
    results = []
    producer = threading.Thread(target=lambda: results.append(buffer.put(chunk(1))))
    producer.start()
    producer.join(0.05)
    assert producer.is_alive()
    buffer.close()
    producer.join(60)
    assert results == [False]
    assert (buffer.size, buffer.drained, buffer.take(5)) == (0, True, [])
    assert buffer.put(chunk(1)) is False


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_the_space_is_given_back_and_the_order_is_kept(tmp_path, seed):
    """A producer beside a consumer that stops early or late, over little memory and files of every state."""
    chance = random.Random(seed)
    space = ResultSpace(3_000, 20_000 if seed % 2 else 0, tmp_path / "results", keep_free=0)
    buffer = PageBuffer(1_000, lambda: None, space, name="q", max_stored=chance.choice([500, 50_000]), patience=0.001)
    sizes = [chance.randint(1, 700) for _ in range(400)]
    ended_by_client = chance.random() < 0.5

    def produce():
        for number, size in enumerate(sizes):
            if not buffer.put(Chunk(str(number).encode().rjust(size + 4), 1)):
                return
        buffer.finish()

    producer = threading.Thread(target=produce)
    producer.start()
    seen = []
    while not buffer.drained and not (ended_by_client and len(seen) > 200):
        seen += [int(chunk.data) for chunk in buffer.take(chance.randint(1, 3_000))]
        assert space.used("memory") <= 3_000 + 704
    if ended_by_client:
        buffer.close()
    producer.join(60)
    assert not producer.is_alive()
    assert seen == list(range(len(seen)))
    assert ended_by_client or len(seen) == 400
    assert (space.used("memory"), space.used("files"), buffer.size) == (0, 0, 0)
    assert not list((tmp_path / "results").glob("*"))


def test_allocators_are_asked_when_much_came_free_and_once_a_minute(tmp_path):
    space = ResultSpace(100 << 20, 0, tmp_path, keep_free=0)
    assert [space.worth_returning(now) for now in (1000.0, 1001.0, 1059.0, 1060.0, 1061.0)] == [
        True, False, False, True, False,
    ]  # fmt: skip
    assert space.reserve("memory", 20 << 20)
    space.free("memory", 20 << 20)
    assert [space.worth_returning(now) for now in (1062.0, 1063.0)] == [True, False]
