import threading

from coordinator.dispatch.buffer import PageBuffer
from coordinator.dispatch.pages import Chunk


def chunk(size, rows=1):
    return Chunk(b"x" * size, rows)


def test_take_returns_whole_chunks_up_to_a_size_and_at_least_one():
    buffer = PageBuffer(1000, lambda: None)
    for size in (10, 20, 500, 5):
        assert buffer.put(chunk(size))
    assert [len(c.json) for c in buffer.take(40)] == [10, 20]
    assert [len(c.json) for c in buffer.take(40)] == [500]
    assert buffer.size == 5
    assert not buffer.drained
    buffer.finish()
    assert not buffer.drained
    assert [len(c.json) for c in buffer.take(40)] == [5]
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
    producer.join(5)
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
    producer.join(5)
    assert results == [False]
    assert (buffer.size, buffer.drained, buffer.take(5)) == (0, True, [])
    assert buffer.put(chunk(1)) is False
