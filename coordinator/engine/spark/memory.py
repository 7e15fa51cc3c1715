"""How much of a machine's memory is for Spark."""

from __future__ import annotations

_MB = 1 << 20
_SHARE = 0.4
"""Of the memory that is Spark's heap by default; Python workers, the coordinator and other engines want the rest."""
_LEAST_HEAP = 512 * _MB
_LARGEST_HEAP = 31 << 30
"""Beyond it Java's references double in size."""
_READERS = 4
"""What sorts, joins and writes the rows has the rest."""
_UNKNOWN_HEAP = 2 << 30


def default_heap(memory: int | None) -> int:
    """Bytes of the heap for a machine with ``memory`` bytes; None stands for a machine that does not tell."""
    if memory is None:
        return _UNKNOWN_HEAP
    wanted = min(max(int(memory * _SHARE), _LEAST_HEAP), _LARGEST_HEAP)
    return wanted // _MB * _MB


def direct_memory(heap: int) -> int:
    """Bytes beside the heap for batches that readers of Parquet and Arrow fill."""
    return max(512 * _MB, heap // 2)


def reader_memory(heap: int, tasks: int) -> int:
    """Bytes that each of so many tasks at once may hold to read a table: a quarter of the heap is for all of them."""
    return max(_MB, heap // _READERS // max(1, tasks))
