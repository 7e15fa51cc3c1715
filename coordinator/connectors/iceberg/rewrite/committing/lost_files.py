"""Files of a rewrite that others removed while it ran: copied on write, overwritten, deleted, rewritten by a rival.

What became of their rows is in the head already, so that the copies in the new files must not be seen: they are deleted
by position as rows that were deleted meanwhile are, and the rest of the rewrite lands. Where little would be left of a
group, its old files stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from pyiceberg.exceptions import ValidationException

from coordinator.connectors.iceberg.rewrite.planning.groups import FileGroup
from coordinator.connectors.iceberg.rewrite.planning.rewrite import Rewrite

_MOST_ROWS = 20_000_000
"""Of lost files of a group: 8 bytes each, a few times over, in the coordinator's memory."""


def lost_groups(rewrite: Rewrite, gone: Set[str]) -> dict[int, ValidationException]:
    """The groups whose new files are not worth a commit without the rows of files that are ``gone``, and why."""
    found = {}
    for number, group in enumerate(rewrite.groups):
        lost = [candidate.data for candidate in group.files if candidate.data.key in gone]
        rows = sum(file.file.record_count for file in lost)
        if lost and (rewrite.table.format_version < 2 or rows > _MOST_ROWS or 2 * rows > _rows(group)):
            paths = ", ".join(sorted(file.path for file in lost)[:5])
            found[number] = ValidationException(f"Missing required files to delete: {paths}")
    return found


def left_out(
    rewrite: Rewrite, lost: Set[int], unused: Sequence[Sequence[str]]
) -> tuple[frozenset[str], frozenset[str]]:
    """The keys of old files of ``lost`` groups, and the paths of what would have taken their place."""
    old = frozenset(candidate.data.key for number in lost for candidate in rewrite.groups[number].files)
    return old, frozenset(path for number in lost for path in unused[number])


def _rows(group: FileGroup) -> int:
    return sum(candidate.data.file.record_count for candidate in group.files)
