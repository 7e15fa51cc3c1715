"""Random trees and random traffic against what must always hold, and against a model that is too simple to be wrong."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.resource_groups.group import ResourceGroup
from coordinator.resource_groups.queue import Ticket
from coordinator.resource_groups.specification import GroupSpec
from shared.errors import ProcessionError

POLICIES = st.sampled_from(["fair", "weighted", "weighted_fair", "query_priority"])


@st.composite
def trees(draw, depth=2):
    """A group with up to three sub-groups, two levels deep."""
    children = draw(st.integers(0, 3)) if depth else 0
    hard = draw(st.integers(0, 4))
    return GroupSpec(
        name="g",
        hard_concurrency_limit=hard,
        max_queued=draw(st.integers(0, 6)),
        soft_concurrency_limit=draw(st.integers(0, hard)),
        scheduling_policy=draw(POLICIES),
        scheduling_weight=draw(st.integers(1, 5)),
        sub_groups=tuple(draw(trees(depth=depth - 1)) for _ in range(children)),
    )


def build(spec, parent, random, name="g"):
    group = ResourceGroup(name, spec, parent, random)
    for number, child in enumerate(spec.sub_groups):
        group.children[f"c{number}"] = build(child, group, random, f"c{number}")
    return group


ACTIONS = st.sampled_from(["submit", "submit", "submit", "finish", "leave"])
STEPS = st.lists(st.tuples(ACTIONS, st.integers(0, 99), st.integers(1, 3)), max_size=60)


class Model:
    """Which statements are where, by the events alone."""

    def __init__(self):
        self.running, self.waiting = {}, {}

    def count(self, where, group):
        return sum(group in leaf.path_to_root() for leaf in where.values())


@given(trees(), STEPS, st.integers(0, 9))
@settings(deadline=None, max_examples=150)
def test_limits_hold_nothing_is_lost_and_nobody_waits_who_could_run(spec, steps, seed):
    root, model = build(spec, None, Random(seed)), Model()
    leaves = [group for group in root.walk() if not group.children]

    def start(query_id):
        model.running[query_id] = model.waiting.pop(query_id)

    for number, (action, pick, priority) in enumerate(steps):
        match action:
            case "submit":
                _submit(model, leaves[pick % len(leaves)], f"q{number}", priority, start)
            case "finish" if model.running:
                query_id = sorted(model.running)[pick % len(model.running)]
                model.running.pop(query_id).remove(query_id)
            case "leave" if model.waiting:
                query_id = sorted(model.waiting)[pick % len(model.waiting)]
                model.waiting.pop(query_id).remove(query_id)
        while root.start_next():
            pass
        _check(root, model)


def _submit(model, leaf, query_id, priority, start):
    could_run = all(model.count(model.running, g) < g.spec.hard_concurrency_limit for g in leaf.path_to_root())
    could_wait = all(model.count(model.waiting, g) < g.spec.max_queued for g in leaf.path_to_root())
    model.waiting[query_id] = leaf
    try:
        leaf.submit(Ticket(query_id, lambda: start(query_id), priority))
    except ProcessionError:
        del model.waiting[query_id]
        assert not could_run
        assert not could_wait
    else:
        assert (query_id in model.running) == could_run
        assert could_run or could_wait


def _check(root, model):
    for group in root.walk():
        assert group.running_total == model.count(model.running, group) <= group.spec.hard_concurrency_limit
        assert group.queued_total == model.count(model.waiting, group)
        assert set(group.running) == {q for q, leaf in model.running.items() if leaf is group}
        assert set(group.queued) == {q for q, leaf in model.waiting.items() if leaf is group}
    for leaf in model.waiting.values():
        full = [g for g in leaf.path_to_root() if g.running_total >= g.spec.hard_concurrency_limit]
        assert full, "a statement waits although every group above it has room"


@given(st.integers(1, 5), st.lists(st.integers(0, 4), min_size=20, max_size=60))
@settings(deadline=None, max_examples=50)
def test_fair_groups_never_fall_behind_each_other(groups, arrivals):
    """While two groups both wait, one is served at most once more often than the other."""
    spec = GroupSpec("g", 1, 999, sub_groups=tuple(GroupSpec("g", 9, 999) for _ in range(groups)))
    root = build(spec, None, Random(0))
    leaves = list(root.children.values())
    served = dict.fromkeys(leaves, 0)
    order = []
    for number, pick in enumerate(arrivals):
        leaf = leaves[pick % groups]
        leaf.submit(Ticket(f"q{number}", lambda leaf=leaf, q=f"q{number}": order.append((leaf, q))))
    first_leaf, first = order.pop()
    first_leaf.remove(first)
    while root.start_next():
        leaf, query_id = order.pop()
        served[leaf] += 1
        waiting = [count for other, count in served.items() if other.queued_total]
        assert max(waiting, default=0) - min(waiting, default=0) <= 1
        leaf.remove(query_id)
