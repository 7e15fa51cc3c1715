"""The heap follows the machine and its container; files as Linux writes them."""

from pathlib import Path

import pytest

from coordinator.engine.spark.memory import default_heap, direct_memory
from coordinator.values.machine import available_memory, machine_memory

GB = 1 << 30


def write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def machine(root: Path, groups: str) -> Path:
    write(root, "proc/meminfo", "MemTotal:       16777216 kB\nMemFree:         1000000 kB\n")
    write(root, "proc/self/cgroup", groups)
    return root


def test_a_machine_without_limits(tmp_path: Path) -> None:
    write(machine(tmp_path, "0::/user.slice\n"), "sys/fs/cgroup/user.slice/memory.max", "max\n")
    assert machine_memory(tmp_path) == 16 * GB


@pytest.mark.parametrize("folder", ["sys/fs/cgroup", "sys/fs/cgroup/kube/pod", "sys/fs/cgroup/kube"])
def test_the_limit_of_a_group_or_of_one_above_it(tmp_path: Path, folder: str) -> None:
    write(machine(tmp_path, "0::/kube/pod\n"), f"{folder}/memory.max", f"{4 * GB}\n")
    write(tmp_path, "sys/fs/memory.max", "1\n")
    assert machine_memory(tmp_path) == 4 * GB


def test_the_first_version_of_control_groups(tmp_path: Path) -> None:
    """In a container its own group is mounted at the top, whatever the path says."""
    root = machine(tmp_path, "5:cpu:/docker/abc\n4:hugetlb,memory:/docker/abc\n0::/\n")
    write(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", f"{2 * GB}\n")
    assert machine_memory(root) == 2 * GB
    write(root, "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n")
    assert machine_memory(root) == 2 * GB


@pytest.mark.parametrize(
    ("groups", "folder", "limit", "used", "cached"),
    [
        ("0::/kube/pod\n", "kube", "memory.max", "memory.current", "inactive_file"),
        ("4:memory:/pod\n0::/\n", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ],
)
def test_what_is_left_in_a_group(tmp_path: Path, groups: str, folder: str, limit: str, used: str, cached: str) -> None:
    """Pages of files that were read long ago go as soon as somebody asks for memory."""
    write(machine(tmp_path, groups), "proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n")
    assert available_memory(tmp_path) == 8 * GB
    group = f"sys/fs/cgroup/{folder}"
    write(tmp_path, f"{group}/{limit}", f"{4 * GB}\n")
    assert available_memory(tmp_path) == 8 * GB, "a group that does not tell what it uses"
    write(tmp_path, f"{group}/{used}", f"{3 * GB}\n")
    assert available_memory(tmp_path) == GB
    write(tmp_path, f"{group}/memory.stat", f"anon {GB}\n{cached} {2 * GB}\nactive_file 5\n")
    assert available_memory(tmp_path) == 3 * GB
    write(tmp_path, f"{group}/{used}", f"{9 * GB}\n")
    assert available_memory(tmp_path) == 0


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    assert available_memory(tmp_path) is None
    assert machine_memory(tmp_path) is None
    assert default_heap(None) == 2 * GB


def test_the_heap_leaves_room_for_the_rest() -> None:
    assert default_heap(GB) == 512 << 20
    assert 1.5 * GB < default_heap(4 * GB) < 1.7 * GB
    assert default_heap(1 << 40) == 31 * GB
    assert direct_memory(GB) == 512 << 20
    assert direct_memory(8 * GB) == 4 * GB
