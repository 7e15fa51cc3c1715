"""What the embedded engine computes by itself, a batch of rows at a time, with Presto's meaning.

Calls within calls are one expression with one condition: where every part is plain, the engine's own SQL, and for the
other rows one program of the whole.
"""

from __future__ import annotations

from sqlglot import exp

from coordinator.expressions.builders import NAMESPACE, typed
from coordinator.unparser.program_choice import carries_zone
from coordinator.unparser.programs import Unparse, python_call
from coordinator.unparser.vectorised.arrays import ARRAYS
from coordinator.unparser.vectorised.binary import BINARY
from coordinator.unparser.vectorised.casts import cast_form
from coordinator.unparser.vectorised.dates import DATES
from coordinator.unparser.vectorised.form import Asked, Form, Rule
from coordinator.unparser.vectorised.jsons import JSONS
from coordinator.unparser.vectorised.lambdas import over_elements
from coordinator.unparser.vectorised.maths import MATHS
from coordinator.unparser.vectorised.patterns import PATTERNS
from coordinator.unparser.vectorised.texts import TEXTS
from coordinator.unparser.vectorised.urls import URLS
from coordinator.values.python_functions import runs_programs
from coordinator.values.type_names import type_name
from shared.plan.expressions import Call, Constant, Lambda, RowExpression, StaticFunctionHandle, Variable

RULES: dict[str, Rule] = {
    **TEXTS, **MATHS, **DATES, **JSONS, **ARRAYS, **PATTERNS, **URLS, **BINARY,
    "$operator$cast": cast_form, "try_cast": cast_form
}  # fmt: skip
_LONGEST = 20_000
"""Characters of SQL, arguments stand in it several times; beyond them a program is better."""
_SAME = ("boolean", "varchar")


def vectorised(node: Call, unparse: Unparse) -> exp.Expression | None:
    """The call in DuckDB's SQL; None when there is no such form of it."""
    elements = over_elements(node, unparse)
    if elements is not None:
        return exp.Var(this=_typed(elements, node))
    called = _tried(node)
    rule = None if called is None else _rule(called)
    form = None if called is None or rule is None else _form(called, rule, unparse)
    if form is None:
        return None
    value = _typed(form.value, node)
    if not form.plain:
        return exp.Var(this=f"({value})")
    rest = python_call(node, "duckdb", unparse, rare=True).sql(dialect="duckdb")
    # Said once: what stands twice would be computed ahead, for all rows and in full. NULL is looked for where the row
    # is not plain: a value that is plain is NULL by itself.
    missing = f"WHEN {' OR '.join(f'{v} IS NULL' for v in form.reads)} THEN NULL" if form.reads else ""
    return exp.Var(this=f"(CASE WHEN {' AND '.join(form.plain)} THEN {value} {missing} ELSE {rest} END)")


def _tried(node: Call) -> Call | None:
    """The call, or the one that TRY holds where nothing in it can fail but what a program decides; None for others."""
    thunk = node.arguments[0] if node.arguments else None
    if not _is_try(node):
        return node
    if not isinstance(thunk, Lambda) or not isinstance(thunk.body, Call) or not _is_safe(thunk.body):
        return None
    return thunk.body


def _is_try(node: Call) -> bool:
    handle = node.functionHandle
    return isinstance(handle, StaticFunctionHandle) and handle.signature.name.endswith("$internal$try")


def _is_safe(node: RowExpression) -> bool:
    """Whether each part is a column, a literal, or a call with a form."""
    if isinstance(node, Variable | Constant):
        return True
    return isinstance(node, Call) and _rule(node) is not None and all(map(_is_safe, node.arguments))


def _rule(node: RowExpression) -> Rule | None:
    """What gives the call its form, told from its types and literals alone."""
    if not isinstance(node, Call) or not isinstance(node.functionHandle, StaticFunctionHandle):
        return None
    rule = RULES.get(node.functionHandle.signature.name.removeprefix(NAMESPACE))
    if rule is None or any(isinstance(a, Lambda) or carries_zone(a) for a in node.arguments):
        return None
    return rule if rule(Asked(node, ["x"] * len(node.arguments))) is not None else None


def _form(node: Call, rule: Rule, unparse: Unparse) -> Form | None:
    arguments = []
    for argument in node.arguments:
        made = _argument(argument, unparse)
        if made is None:
            return None
        arguments.append(made)
    form = rule(Asked(node, [a.value for a in arguments]))
    if form is None:
        return None
    plain = tuple(dict.fromkeys(p for a in arguments for p in a.plain))
    if plain and form.plain:
        # What the outer condition computes may fail where the inner ones do not hold; AND may begin with any.
        plain = (f"CASE WHEN {' AND '.join(plain)} THEN {' AND '.join(form.plain)} ELSE FALSE END",)
    plain = plain or form.plain
    reads = tuple(dict.fromkeys(v for a in arguments for v in a.reads))
    return Form(form.value, plain, reads) if len(form.value) + sum(map(len, plain)) < _LONGEST else None


def _argument(node: RowExpression, unparse: Unparse) -> Form | None:
    """None when it is a program, which would run for every row after all."""
    rule = _rule(node)
    if rule is not None:
        assert isinstance(node, Call)
        form = _form(node, rule, unparse)
        return None if form is None else Form(_typed(form.value, node), form.plain, form.reads)
    sql = str(unparse(node, "duckdb").sql(dialect="duckdb"))
    if runs_programs(sql) or len(sql) > _LONGEST:
        return None
    value = sql if isinstance(node, Variable) else f"({sql})"
    return Form(value, reads=() if isinstance(node, Constant) else (value,))


def _typed(value: str, node: Call) -> str:
    type_ = typed(node)
    return f"({value})" if type_.base in _SAME else f"CAST({value} AS {type_name(type_, 'duckdb')})"
