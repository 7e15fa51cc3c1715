"""What a call of ``rewrite_data_files`` asks for, checked as far as it can be without the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from coordinator.connectors.iceberg.rewrite.options import RewriteOptions, Rewriter, parse_options
from coordinator.connectors.iceberg.rewrite.sorted_by import SortedBy, parse_sorted_by
from shared.errors import ErrorCode
from shared.spi.procedure import ArgumentError, Arguments

Strategy = Literal["binpack", "sort"]


@dataclass(frozen=True, slots=True)
class RewriteArguments:
    """``sorted_by`` is None for binpack and for the table's own order."""

    strategy: Strategy
    sorted_by: SortedBy | None
    options: Mapping[str, Any] | None
    dry_run: bool
    branch: str | None = None

    @classmethod
    def of(cls, arguments: Arguments) -> RewriteArguments:
        """The arguments by their names; raises ArgumentError for strategies and sort columns that cannot be."""
        strategy, entries = _strategy(arguments.get("strategy") or "binpack"), arguments.get("sorted_by")
        if strategy == "binpack" and entries:
            message = "Cannot use binpack strategy with sorted_by option. Use sort strategy when specifying sort order."
            raise ArgumentError("sorted_by", message, ErrorCode.NOT_SUPPORTED)
        sorted_by = parse_sorted_by(entries) if entries else None
        branch = arguments.get("branch")
        if branch is not None and arguments.get("dry_run"):
            raise ArgumentError("branch", "A dry run looks at the branch main alone", ErrorCode.NOT_SUPPORTED)
        named = None if branch in (None, "main") else str(branch)
        return cls(strategy, sorted_by, arguments.get("options"), bool(arguments.get("dry_run")), named)

    @property
    def rewriter(self) -> Rewriter:
        """Iceberg's name for the way."""
        if self.strategy == "binpack":
            return "BIN-PACK"
        return "Z-ORDER" if self.sorted_by is not None and self.sorted_by.curve is not None else "SORT"

    def parsed_options(self, properties: Mapping[str, str] | None = None) -> RewriteOptions:
        """The options over a table's properties; raises ArgumentError."""
        return parse_options(self.options, properties or {}, self.rewriter)


def _strategy(text: str) -> Strategy:
    match text.lower():
        case "binpack":
            return "binpack"
        case "sort":
            return "sort"
    message = f"Invalid rewrite strategy: {text}. Valid values are 'sort' or 'binpack'."
    raise ArgumentError("strategy", message, ErrorCode.NOT_SUPPORTED)
