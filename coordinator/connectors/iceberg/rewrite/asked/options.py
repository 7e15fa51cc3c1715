"""Options of ``rewrite_data_files``: Iceberg's names and defaults, every value checked, no name ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from coordinator.connectors.iceberg.numbers import whole_number
from shared.spi.procedure import ArgumentError

JobOrder = Literal["none", "bytes-asc", "bytes-desc", "files-asc", "files-desc"]
_NAMES = frozenset(
    {
        "target-file-size-bytes",
        "min-file-size-bytes",
        "max-file-size-bytes",
        "min-input-files",
        "rewrite-all",
        "max-file-group-size-bytes",
        "max-file-group-input-files",
        "max-files-to-rewrite",
        "max-concurrent-file-group-rewrites",
        "delete-file-threshold",
        "delete-ratio-threshold",
        "rewrite-job-order",
        "remove-dangling-deletes",
        "output-spec-id",
        "use-starting-sequence-number",
        "partial-progress.enabled",
        "partial-progress.max-commits",
        "partial-progress.max-failed-commits",
        "partial-progress.max-seconds",
        "copy-row-groups",
    }
)
_OWN_NAMES = frozenset({"copy-row-groups", "partial-progress.max-seconds"})
"""Options that Iceberg's procedure does not know."""
Rewriter = Literal["BIN-PACK", "SORT", "Z-ORDER"]
_SORT_NAMES = frozenset(
    {"compression-factor", "shuffle-partitions-per-file", "rewrite-stale-sort-order", "min-overlap-depth"}
)
_REWRITER_NAMES: Mapping[Rewriter, frozenset[str]] = {
    "BIN-PACK": frozenset(),
    "SORT": _SORT_NAMES,
    "Z-ORDER": _SORT_NAMES | {"var-length-contribution", "max-output-size"},
}
_SIZES = ("target-file-size-bytes", "min-file-size-bytes", "max-file-size-bytes")
_TARGET_PROPERTY = "write.target-file-size-bytes"
_DEFAULT_TARGET = 512 << 20
NO_LIMIT = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class RewriteOptions:
    """What to rewrite and into which sizes (bytes)."""

    target_file_size: int
    min_file_size: int
    max_file_size: int
    min_input_files: int = 5
    rewrite_all: bool = False
    max_group_size: int = 100 << 30
    max_group_files: int = NO_LIMIT
    max_files: int = NO_LIMIT
    max_concurrent_groups: int | None = None
    delete_file_threshold: int = 2147483647
    delete_ratio_threshold: float = 0.3
    job_order: JobOrder = "none"
    remove_dangling_deletes: bool = False
    output_spec_id: int | None = None
    partial_progress: bool = False
    max_commits: int = 10
    max_failed_commits: int = 10
    max_seconds: int | None = None
    """After so many seconds no further commit is begun."""
    use_starting_sequence_number: bool = True
    copy_row_groups: bool = True
    compression_factor: float = 1.0
    ranges_per_file: int = 1
    var_length: int | None = None
    max_output_size: int | None = None
    rewrite_stale_sort_order: bool = False
    min_overlap_depth: int | None = None


def parse_options(
    options: Mapping[str, str] | None,
    table_properties: Mapping[str, str] | None = None,
    rewriter: Rewriter = "BIN-PACK",
) -> RewriteOptions:
    """The options of a call over the defaults of its table; raises ArgumentError."""
    given = dict(options or {})
    unknown = sorted(set(given) - _NAMES - _REWRITER_NAMES[rewriter])
    if unknown:
        names = ", ".join(unknown)
        raise _invalid(f"Cannot use options [{names}], they are not supported by the action or the rewriter {rewriter}")
    if empty := sorted(name for name, value in given.items() if value is None):
        raise _invalid(f"{empty[0]} has no value")
    _check_progress(given)
    _check_sorting(given)
    target, least, most = _sizes(given, table_properties or {})
    order = given.get("rewrite-job-order", "none").lower()
    if order not in get_args(JobOrder):
        raise _invalid(f"Invalid rewrite job order name: {given['rewrite-job-order']}")
    commits = _integer(given, "partial-progress.max-commits", 10, least=1)
    return RewriteOptions(
        target_file_size=target,
        min_file_size=least,
        max_file_size=most,
        min_input_files=_integer(given, "min-input-files", 5, least=1),
        rewrite_all=_boolean(given, "rewrite-all"),
        max_group_size=_long(given, "max-file-group-size-bytes", 100 << 30, least=1),
        max_group_files=_long(given, "max-file-group-input-files", NO_LIMIT, least=1),
        max_files=_long(given, "max-files-to-rewrite", NO_LIMIT, least=1),
        max_concurrent_groups=_optional(given, "max-concurrent-file-group-rewrites", least=1),
        delete_file_threshold=_integer(given, "delete-file-threshold", 2147483647, least=0),
        delete_ratio_threshold=_ratio(given, "delete-ratio-threshold", 0.3),
        job_order=cast(JobOrder, order),
        remove_dangling_deletes=_boolean(given, "remove-dangling-deletes"),
        output_spec_id=_optional(given, "output-spec-id", least=0),
        partial_progress=_boolean(given, "partial-progress.enabled"),
        max_commits=commits,
        max_failed_commits=_integer(given, "partial-progress.max-failed-commits", commits, least=0),
        max_seconds=_optional(given, "partial-progress.max-seconds", least=1),
        use_starting_sequence_number=_boolean(given, "use-starting-sequence-number", default=True),
        copy_row_groups=_boolean(given, "copy-row-groups", default=True),
        compression_factor=float(given.get("compression-factor", "1")),
        ranges_per_file=_integer(given, "shuffle-partitions-per-file", 1, least=1),
        var_length=_optional(given, "var-length-contribution", least=1),
        max_output_size=_optional(given, "max-output-size", least=1),
        rewrite_stale_sort_order=_boolean(given, "rewrite-stale-sort-order"),
        min_overlap_depth=_optional(given, "min-overlap-depth", least=2),
    )


def option_texts(given: Mapping[str, str], options: RewriteOptions) -> dict[str, str]:
    """The options as Iceberg's own procedure takes them: sizes with the meaning that they have here, then the rest."""
    texts = {name: str(value).strip() for name, value in given.items() if name not in _SIZES and name not in _OWN_NAMES}
    if any(name in given for name in _SIZES):
        values = (options.target_file_size, options.min_file_size, options.max_file_size)
        texts |= {name: str(value) for name, value in zip(_SIZES, values, strict=True)}
    return dict(sorted(texts.items()))


def _check_progress(given: Mapping[str, str]) -> None:
    enabled = _boolean(given, "partial-progress.enabled")
    for name in sorted(given):
        if name.startswith("partial-progress.max-") and not enabled:
            raise _invalid(f"{name} has no meaning without partial-progress.enabled")
    _integer(given, "partial-progress.max-commits", 10, least=1)
    _integer(given, "partial-progress.max-failed-commits", 10, least=0)
    _optional(given, "partial-progress.max-seconds", least=1)


def _check_sorting(given: Mapping[str, str]) -> None:
    for name in ("shuffle-partitions-per-file", "var-length-contribution", "max-output-size"):
        _integer(given, name, 1, least=1)
    text = given.get("compression-factor", "1")
    try:
        positive = 0 < float(text) < float("inf")
    except ValueError:
        raise _invalid(f"compression-factor must be a valid double, got: {text}") from None
    if not positive:
        raise _invalid(f"compression-factor must be > 0, got: {text}")


def _sizes(given: Mapping[str, str], properties: Mapping[str, str]) -> tuple[int, int, int]:
    """Target, least and greatest size. 0 switches a bound off, as in Presto; bounds without a target move it.

    A greatest size of 1 takes every file, as in Presto, and says nothing of the size to write.
    """
    minimum = _long(given, "min-file-size-bytes", -1, least=0)
    maximum = _long(given, "max-file-size-bytes", -1, least=0)
    most = NO_LIMIT if maximum == 0 else maximum
    if "target-file-size-bytes" in given:
        target = _long(given, "target-file-size-bytes", 0, least=1)
    else:
        target = _target_between(_default_target(properties), minimum, most)
        if most == 1:
            return target, target * 3 // 4 if minimum < 0 else minimum, most
    least = target * 3 // 4 if minimum < 0 else minimum
    most = target * 9 // 5 if most < 0 else most
    if target <= least and minimum > 0:
        raise _invalid(
            f"'target-file-size-bytes' ({target}) must be > 'min-file-size-bytes' ({least}), "
            "all new files will be smaller than the min threshold"
        )
    if target >= most:
        raise _invalid(
            f"'target-file-size-bytes' ({target}) must be < 'max-file-size-bytes' ({most}), "
            "all new files will be larger than the max threshold"
        )
    return target, least, most


def _target_between(target: int, minimum: int, most: int) -> int:
    """The table's target, or one that the bounds allow; -1 is no bound, and a greatest size of 1 none for targets."""
    low, high = max(0, minimum), most if most > 1 else NO_LIMIT
    if low < target < high:
        return target
    wanted = high * 5 // 9 if target >= high else low * 4 // 3 + 1
    return wanted if low < wanted < high else max(1, (low + high) // 2)


def _default_target(properties: Mapping[str, str]) -> int:
    return whole_number(properties.get(_TARGET_PROPERTY)) or _DEFAULT_TARGET


def _integer(given: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    return _number(given, name, default, least, "integer", 2147483647)


def _long(given: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    return _number(given, name, default, least, "long", NO_LIMIT)


def _optional(given: Mapping[str, str], name: str, *, least: int) -> int | None:
    return _integer(given, name, 0, least=least) if name in given else None


def _number(given: Mapping[str, str], name: str, default: int, least: int, kind: str, greatest: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    try:
        value = int(text)
    except (TypeError, ValueError):
        raise _invalid(f"{name} must be a valid {kind}, got: {text}") from None
    if not -greatest - 1 <= value <= greatest:
        raise _invalid(f"{name} must be a valid {kind}, got: {text}")
    if value < least:
        wanted = "must be non-negative" if least == 0 else f"must be at least {least}"
        raise _invalid(f"{name} {wanted}, got: {text}")
    return value


def _ratio(given: Mapping[str, str], name: str, default: float) -> float:
    text = given.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except (TypeError, ValueError):
        raise _invalid(f"{name} must be a valid double, got: {text}") from None
    if not 0 < value <= 1:
        raise _invalid(f"{name} must be > 0 and <= 1, got: {text}")
    return value


def _boolean(given: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    text = given.get(name, str(default))
    if str(text).lower() not in ("true", "false"):
        raise _invalid(f"{name} must be true or false, got: {text}")
    return str(text).lower() == "true"


def _invalid(message: str) -> ArgumentError:
    return ArgumentError("options", message)
