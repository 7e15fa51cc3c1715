"""Each procedure's arguments are a frozen record whose annotations agree with the types that it declares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any, get_type_hints

import pytest

from coordinator.connectors.iceberg import procedures
from coordinator.connectors.iceberg.procedures.auto_maintain import AutoMaintainArguments
from coordinator.connectors.iceberg.procedures.invalidate_caches import SUMMARIES, InvalidateCacheArguments, declared
from coordinator.connectors.iceberg.procedures.rewrite_data_files import RewriteDataFilesArguments
from coordinator.connectors.iceberg.procedures.table_procedure import arguments_of
from coordinator.connectors.system.procedures import (
    clean_data_cache,
    explain_maintenance,
    help,
    kill_job,
    kill_query,
    maintain,
    pause,
    resume,
    show_jobs,
)
from shared.spi.procedure import ProcedureDeclaration
from shared.spi.procedure_arguments import Declared, declared_arguments, record_of
from tools.procedure_reference import PAGE

_PYTHON: Mapping[str, Any] = {
    "varchar": str,
    "boolean": bool,
    "integer": int,
    "bigint": int,
    "timestamp": datetime,
    "array(varchar)": tuple[str, ...],
    "array(bigint)": tuple[int, ...],
    "map(varchar,varchar)": Mapping[str, str],
}


def _records() -> list[tuple[ProcedureDeclaration, type]]:
    found: list[tuple[ProcedureDeclaration, type]] = [
        (clean_data_cache.DECLARATION, clean_data_cache.CleanDataCacheArguments),
        (help.DECLARATION, help.HelpArguments),
        (kill_job.DECLARATION, kill_job.KillJobArguments),
        (kill_query.DECLARATION, kill_query.KillQueryArguments),
        *((declared(name, summary), InvalidateCacheArguments) for name, summary in SUMMARIES.items()),
        (show_jobs.DECLARATION, show_jobs.ShowJobsArguments),
        (maintain.DECLARATION, maintain.MaintainArguments),
        (pause.DECLARATION, pause.PauseArguments),
        *((module.DECLARATION, maintain.ScopeArguments) for module in (explain_maintenance, resume)),
    ]
    own = {"auto_maintain": AutoMaintainArguments, "rewrite_data_files": RewriteDataFilesArguments}
    for each in iter_modules(procedures.__path__):
        module = import_module(f"{procedures.__name__}.{each.name}")
        if hasattr(module, "DECLARATION"):
            record = own[each.name] if each.name in own else arguments_of(module.answer)
            found.append((module.DECLARATION, record))
        found += [(declaration, record) for declaration, record, _ in getattr(module, "PROCEDURES", ())]
    return found


@pytest.mark.parametrize(("declaration", "record"), [pytest.param(*pair, id=pair[0].name) for pair in _records()])
def test_annotations_agree_with_what_is_declared(declaration: ProcedureDeclaration, record: type) -> None:
    assert declaration.arguments == declared_arguments(record)
    hints = get_type_hints(record)
    for argument in declaration.arguments:
        python = _PYTHON[argument.type]
        may_be_null = not argument.required and argument.default is None
        assert hints[argument.name] == (python | None if may_be_null else python), argument.name


def test_every_procedure_of_the_catalog_is_among_them() -> None:
    listed = re.findall(r"^## (\S+)", PAGE.read_text(), re.MULTILINE)
    assert {name.rpartition(".")[2] for name in listed} == {declaration.name for declaration, _ in _records()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bare:
    limit: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Some:
    name: Annotated[str, Declared("varchar", "A name.")]
    limit: Annotated[int, Declared("integer", "A limit.")] = 3


def test_a_record_is_made_of_bound_values() -> None:
    assert record_of(_Some, {"name": "a"}) == _Some(name="a", limit=3)
    with pytest.raises(TypeError, match="other"):
        record_of(_Some, {"name": "a", "other": 1})
    assert [f.name for f in fields(_Some)] == [a.name for a in declared_arguments(_Some)]


def test_a_field_that_declares_nothing_is_refused() -> None:
    with pytest.raises(TypeError, match="limit is not Annotated with Declared"):
        declared_arguments(_Bare)
