"""Takes deferred columns out of scans, carries row positions instead, and puts a Fetch below the output.

Between the two is a projection where expressions read what is fetched.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from msgspec.structs import replace

from coordinator.vocabulary.identifiers import PlanNodeIds
from shared.plan import nodes
from shared.plan.blocks import encode_constant
from shared.plan.expressions import Constant, RowExpression, Variable
from shared.plan.nodes import FetchNode, LookUpNode, PlanNode, RowPosition
from shared.plan.traversal import free_variables, output_variables, sources, variable_of_key, walk, with_sources
from shared.spi.row_position import RowPositionDescriptor


@dataclass(frozen=True, slots=True)
class Deferral:
    """The columns of one scan that are fetched later: ``names`` are its variables."""

    scan: nodes.TableScanNode
    descriptor: RowPositionDescriptor
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a variable that is not there any more comes from: a column of a scan, at a position."""

    scan: str
    column: str
    position: RowPosition


@dataclass(frozen=True, slots=True)
class Rewritten:
    """``missing`` are the outputs that the node had and has no more; a union gives several origins.

    ``computed`` are outputs that the node gave and gives no more, in terms of what is missing and of ``inputs``, which
    are passed on for them alone.
    """

    node: PlanNode
    missing: Mapping[str, tuple[Origin, ...]] = field(default_factory=dict)
    positions: tuple[RowPosition, ...] = ()
    computed: Mapping[str, RowExpression] = field(default_factory=dict)
    inputs: tuple[Variable, ...] = ()

    @property
    def gone(self) -> Set[str]:
        """Outputs that the node gives no more."""
        return self.missing.keys() | self.computed.keys()

    @property
    def added(self) -> tuple[Variable, ...]:
        """What every node above must pass on."""
        return (*_variables(self.positions), *self.inputs)


class UnionConflictError(Exception):
    """A union's column is deferred in some branches only: ``origins`` (scan, variable) must be read early."""

    def __init__(self, origins: set[tuple[str, str]]) -> None:
        super().__init__(str(sorted(origins)))
        self.origins = origins


class PlanRewriter:
    """Rewrites one plan: the names that it gives to positions are unique in it."""

    def __init__(
        self,
        root: nodes.OutputNode,
        deferrals: Mapping[str, Deferral],
        waiting: Set[tuple[str, str]],
        ids: PlanNodeIds,
    ) -> None:
        self._root = root
        self._deferrals = deferrals
        self._waiting = waiting
        self._ids = ids
        self._taken = {v.name for node in walk(root) for v in output_variables(node)}

    def rewrite(self) -> nodes.OutputNode:
        """The plan with one Fetch. Raises UnionConflictError."""
        below = self._visit(self._root.source)
        return replace(self._root, source=self._shown(tuple(dict.fromkeys(self._root.outputVariables)), below))

    def _shown(self, wanted: tuple[Variable, ...], below: Rewritten) -> PlanNode:
        """``wanted`` from a Fetch over ``below``, with a projection for each step of what waits."""
        if not any(variable.name in below.computed for variable in wanted):
            return self._fetch(wanted, below)
        assigned = {variable.key: below.computed.get(variable.name, variable) for variable in wanted}
        read = {v.name: v for expression in assigned.values() for v in free_variables(expression)}
        source = self._shown(tuple(read.values()), below)
        return nodes.ProjectNode(
            id=self._ids.next(), source=source, assignments=nodes.Assignments(assignments=assigned), locality="LOCAL"
        )

    def _fetch(self, wanted: tuple[Variable, ...], below: Rewritten) -> FetchNode:
        found: dict[tuple[str, RowPosition], list[tuple[Variable, str]]] = {}
        for variable in wanted:
            for origin in below.missing.get(variable.name, ()):
                found.setdefault((origin.scan, origin.position), []).append((variable, origin.column))
        look_ups = tuple(self._look_up(scan, at, columns) for (scan, at), columns in found.items())
        return FetchNode(id=self._ids.next(), source=below.node, lookUps=look_ups, outputVariables=wanted)

    def _look_up(self, scan_id: str, position: RowPosition, columns: Sequence[tuple[Variable, str]]) -> LookUpNode:
        scan = self._deferrals[scan_id].scan
        handles = {variable_of_key(key).name: handle for key, handle in scan.assignments.items()}
        return LookUpNode(
            id=self._ids.next(),
            sourceLocation=scan.sourceLocation,
            table=scan.table,
            rowPosition=position,
            outputVariables=tuple(variable for variable, _ in columns),
            assignments={variable.key: handles[column] for variable, column in columns},
        )

    def _visit(self, node: PlanNode) -> Rewritten:
        match node:
            case nodes.TableScanNode():
                return self._scan(node)
            case nodes.ProjectNode():
                return self._project(node)
            case nodes.JoinNode():
                return self._join(node)
            case nodes.UnnestNode():
                below = self._visit(node.source)
                kept = _passed(_without(node.replicateVariables, below.gone), below.added)
                made = replace(node, source=below.node, replicateVariables=kept) if below.positions else node
                return dataclasses.replace(below, node=made)
            case nodes.ExchangeNode():
                return self._union(node)
            case _:
                found = [self._visit(source) for source in sources(node)]
                rebuilt = with_sources(node, [b.node for b in found])
                # What is deferred below a node of several sources is on its first: a semi join reads the other.
                return dataclasses.replace(found[0], node=rebuilt) if found else Rewritten(rebuilt)

    def _scan(self, node: nodes.TableScanNode) -> Rewritten:
        deferral = self._deferrals.get(node.id)
        if deferral is None:
            return Rewritten(node)
        source, refs = deferral.descriptor.row_source, deferral.descriptor.ref_columns
        position = RowPosition(
            rowSource=self._variable(f"$row_source_{node.id}", source.type),
            refColumns=tuple(self._variable(f"$row_ref_{node.id}", column.type) for column in refs),
        )
        made = _variables((position,))
        kept = tuple(v for v in node.outputVariables if v.name not in deferral.names)
        assignments: dict[str, dict[str, object]] = {v.key: node.assignments[v.key] for v in kept}
        assignments |= {v.key: column.handle for v, column in zip(made, (source, *refs), strict=True)}
        scan = replace(node, outputVariables=(*kept, *made), assignments=assignments)
        missing = {name: (Origin(node.id, name, position),) for name in deferral.names}
        return Rewritten(scan, missing, (position,))

    def _project(self, node: nodes.ProjectNode) -> Rewritten:
        below = self._visit(node.source)
        if not below.positions:
            return Rewritten(with_sources(node, [below.node]))
        kept: dict[str, RowExpression] = {}
        # What is shown no more may still be computed with: it stays known by its name, which is unique in the plan.
        missing, computed = dict(below.missing), dict(below.computed)
        for key, expression in node.assignments.assignments.items():
            name = variable_of_key(key).name
            if isinstance(expression, Variable) and expression.name in below.missing:
                missing[name] = below.missing[expression.name]
            elif (node.id, name) in self._waiting and below.gone & {v.name for v in free_variables(expression)}:
                computed[name] = expression
            elif isinstance(expression, Variable) and expression.name in below.computed:
                if name != expression.name:
                    computed[name] = expression
            else:
                kept[key] = expression
                missing.pop(name, None)
        read = {v.name: v for name in computed.keys() - below.computed for v in free_variables(computed[name])}
        inputs = {v.name: v for v in (*below.inputs, *read.values()) if v.name not in below.gone}
        kept |= {v.key: v for v in (*_variables(below.positions), *inputs.values()) if v.key not in kept}
        made = replace(node, source=below.node, assignments=nodes.Assignments(assignments=kept))
        return Rewritten(made, missing, below.positions, computed, tuple(inputs.values()))

    def _join(self, node: nodes.JoinNode) -> Rewritten:
        sides = [self._visit(node.left), self._visit(node.right)]
        left, right = sides
        # A join's output has the variables of the left side before those of the right.
        of_right = {v.name for v in output_variables(node.right)}
        kept = _without(node.outputVariables, left.gone | right.gone)
        outputs = (
            *_passed((v for v in kept if v.name not in of_right), left.added),
            *_passed((v for v in kept if v.name in of_right), right.added),
        )
        positions = left.positions + right.positions
        joined = replace(node, outputVariables=outputs) if positions else node
        return Rewritten(
            with_sources(joined, [side.node for side in sides]),
            {**left.missing, **right.missing},
            positions,
            {**left.computed, **right.computed},
            left.inputs + right.inputs,
        )

    def _union(self, node: nodes.ExchangeNode) -> Rewritten:
        found = [self._visit(source) for source in node.sources]
        if not any(branch.positions for branch in found):
            return Rewritten(with_sources(node, [branch.node for branch in found]))
        layout = node.partitioningScheme.outputLayout
        origins = _union_origins(node, found)
        new = [tuple(self._position(p) for p in branch.positions) for branch in found]
        added = tuple(v for positions in new for v in _variables(positions))
        branches = [self._branch(branch, i, new) for i, branch in enumerate(found)]
        renamed = {(i, old): fresh for i, b in enumerate(found) for old, fresh in zip(b.positions, new[i], strict=True)}
        missing = {
            name: tuple(Origin(o.scan, o.column, renamed[i, o.position]) for i, o in pairs)
            for name, pairs in origins.items()
        }
        kept = [at for at, variable in enumerate(layout) if variable.name not in missing]
        inputs = tuple(
            (*(old[at] for at in kept), *passed) for old, (_, passed) in zip(node.inputs, branches, strict=True)
        )
        scheme = replace(node.partitioningScheme, outputLayout=(*(layout[at] for at in kept), *added))
        made = replace(node, sources=tuple(b for b, _ in branches), inputs=inputs, partitioningScheme=scheme)
        return Rewritten(made, missing, tuple(p for positions in new for p in positions))

    def _branch(
        self, branch: Rewritten, number: int, positions: Sequence[Sequence[RowPosition]]
    ) -> tuple[PlanNode, tuple[Variable, ...]]:
        """A branch with the positions of all branches, NULL for those of others, and the variables that hold them."""
        passed: list[Variable] = []
        made: dict[str, RowExpression] = {variable.key: variable for variable in output_variables(branch.node)}
        for i, others in enumerate(positions):
            if i == number:
                passed += _variables(branch.positions)
                continue
            for variable in _variables(others):
                absent = self._variable(variable.name, variable.type)
                made[absent.key] = Constant(valueBlock=encode_constant(None, variable.type), type=variable.type)
                passed.append(absent)
        if len(made) == len(output_variables(branch.node)):
            return branch.node, tuple(passed)
        assignments = nodes.Assignments(assignments=made)
        return nodes.ProjectNode(id=self._ids.next(), source=branch.node, assignments=assignments), tuple(passed)

    def _position(self, old: RowPosition) -> RowPosition:
        refs = tuple(self._variable(v.name, v.type) for v in old.refColumns)
        return RowPosition(rowSource=self._variable(old.rowSource.name, old.rowSource.type), refColumns=refs)

    def _variable(self, name: str, type_: str) -> Variable:
        unique, number = name, 0
        while unique in self._taken:
            number += 1
            unique = f"{name}_{number}"
        self._taken.add(unique)
        return Variable(name=unique, type=type_)


def _union_origins(node: nodes.ExchangeNode, found: Sequence[Rewritten]) -> dict[str, list[tuple[int, Origin]]]:
    """Origins of the union's columns, each with the number of its branch. Raises UnionConflictError."""
    origins: dict[str, list[tuple[int, Origin]]] = {}
    conflicts: set[tuple[str, str]] = set()
    for at, variable in enumerate(node.partitioningScheme.outputLayout):
        given = [branch.missing.get(inputs[at].name, ()) for branch, inputs in zip(found, node.inputs, strict=True)]
        if all(given):
            origins[variable.name] = [(i, origin) for i, several in enumerate(given) for origin in several]
        else:
            conflicts |= {(origin.scan, origin.column) for several in given for origin in several}
    if conflicts:
        raise UnionConflictError(conflicts)
    return origins


def _variables(positions: Sequence[RowPosition]) -> tuple[Variable, ...]:
    return tuple(v for position in positions for v in (position.rowSource, *position.refColumns))


def _without(variables: Sequence[Variable], gone: Set[str]) -> tuple[Variable, ...]:
    return tuple(variable for variable in variables if variable.name not in gone)


def _passed(variables: Iterable[Variable], added: Sequence[Variable]) -> tuple[Variable, ...]:
    """``variables`` and those of ``added`` that are not among them."""
    return tuple({v.name: v for v in (*variables, *added)}.values())
