"""What is decided about a table, and that every decision can be explained."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from coordinator.maintenance.calls import call_text
from coordinator.maintenance.decisions import backed_off
from coordinator.maintenance.policies import DEFAULT, PartitionExpiry
from coordinator.maintenance.questions import Past, Question, Step
from shared.spi.maintenance import CommitRates, RowChanges
from tests.maintenance.states import MB, NOW, partition, policy, steps, table


def test_many_small_files_are_worth_a_rewrite_and_few_are_not() -> None:
    step = steps(table(partition(files=40)))["rewrite_data_files"]
    assert step.wanted
    assert step.reason.startswith("the table has 40 small files of 40; saves ")
    assert not steps(table(partition(files=11)))["rewrite_data_files"].wanted
    reason = steps(table(partition(files=11)))["rewrite_data_files"].reason
    assert "no partition has 12 small and delete files (small: 11)" in reason


def test_a_rewrite_that_costs_more_than_it_saves_waits_until_the_table_is_read_more() -> None:
    state = table(partition(files=12, size=4000 * MB))
    idle = steps(state)["rewrite_data_files"]
    assert not idle.wanted
    assert "saves 0.0" in idle.reason
    busy = steps(state, past=Past(scans_per_day=2000))["rewrite_data_files"]
    assert busy.wanted


def test_deletes_of_large_files_make_them_due() -> None:
    large = partition(files=4, size=2000 * MB, small_files=0, small_size=0, position_deletes=150, delete_files=9)
    step = steps(table(large), past=Past(scans_per_day=10_000))["rewrite_data_files"]
    assert step.wanted
    assert step.size == 2000 * MB
    assert "15% of its rows are deleted" in step.reason
    few = replace(large, position_deletes=99)
    assert not steps(table(few), past=Past(scans_per_day=10_000))["rewrite_data_files"].wanted


def test_delete_files_count_as_small_files_do_and_are_taken_by_the_call() -> None:
    """A file that is large enough, and of which little is deleted, is left out by a call that is not told."""
    rules = policy(compaction={"config": {"min-input-files": 3}})
    past = Past(scans_per_day=100)
    some = partition(files=2, delete_files=1)
    step = steps(table(some), rules, past)["rewrite_data_files"]
    assert step.arguments is not None
    assert step.reason.startswith("the table has 2 small files of 2, 1 delete files; saves")
    options = step.arguments["options"]
    assert isinstance(options, dict)
    assert options["delete-file-threshold"] == "1"
    large = partition(files=1, small_files=0, small_size=0, delete_files=2, equality_files=1)
    assert steps(table(large), rules, past)["rewrite_data_files"].wanted
    few = partition(files=1, small_files=0, small_size=0, delete_files=2)
    assert not steps(table(few), rules, past)["rewrite_data_files"].wanted
    plain = steps(table(partition(files=3)), rules, past)["rewrite_data_files"]
    assert plain.arguments is not None
    assert "delete-file-threshold" not in str(plain.arguments)


def test_equality_deletes_are_converted_now_and_then_unless_a_rewrite_applies_them() -> None:
    """A table that gets upserts by the minute would be read whole in every round."""
    rules = policy(compaction={"config": {"min-input-files": 12}})
    few = partition(files=2, equality_files=4, equality_deletes=100)
    assert steps(table(few), rules)["convert_equality_deletes"].wanted
    past = Past(last_conversion=NOW - timedelta(minutes=5))
    again = steps(table(few), rules, past)["convert_equality_deletes"]
    assert (again.wanted, again.due) == (False, NOW + timedelta(minutes=10))
    assert steps(table(few), rules, replace(past, last_conversion=NOW - timedelta(minutes=16)))[
        "convert_equality_deletes"
    ].wanted
    many = partition("p", files=12, equality_files=8, equality_deletes=100)
    found = steps(table(many), rules)
    assert found["rewrite_data_files"].wanted
    assert found["convert_equality_deletes"].reason == "the rewrite applies the 8 equality delete files"
    other = partition("q", equality_files=2, equality_deletes=10)
    assert steps(table(many, other), rules)["convert_equality_deletes"].wanted, "of which the rewrite takes one"


def test_a_step_that_time_alone_makes_due_says_when() -> None:
    changed = NOW - timedelta(seconds=90)
    other = partition("other", 12, last_change=NOW - timedelta(seconds=30))
    hot = table(partition("p", 12, last_change=changed), other, rates=CommitRates(median_gap_seconds=60.0))
    step = steps(hot)["rewrite_data_files"]
    assert (step.wanted, step.due) == (False, changed + timedelta(seconds=120))
    recently = steps(table(partition(files=40)), past=Past(last_rewrite=NOW - timedelta(minutes=5)))
    assert recently["rewrite_data_files"].due == NOW + timedelta(minutes=10)
    assert steps(table(partition(files=1)))["rewrite_data_files"].due is None


def test_partitions_that_are_written_just_now_are_left_alone() -> None:
    hot = partition("hot", 40, last_change=NOW - timedelta(minutes=1), small_size=600 * MB, size=6000 * MB)
    cold = partition("cold", 40, last_change=NOW - timedelta(days=1))
    state = table(hot, cold, rates=CommitRates(median_gap_seconds=600.0))
    step = steps(state)["rewrite_data_files"]
    assert step.arguments is not None
    assert step.arguments["filter"] == "(\"p\" = 'cold')"
    assert "1 partitions that are being written are left alone" in step.reason
    alone = steps(table(hot, rates=CommitRates(median_gap_seconds=600.0)))["rewrite_data_files"]
    assert not alone.wanted
    assert "being written just now" in alone.reason
    far_too_many = replace(hot, files=200, small_files=200)
    state = table(far_too_many, rates=CommitRates(median_gap_seconds=600.0))
    assert steps(state, past=Past(scans_per_day=10))["rewrite_data_files"].wanted


def test_writers_that_change_rows_are_given_way() -> None:
    """A rewrite that comes between their reading and their commit makes them fail."""

    def step(minutes: float, files: int = 40, short: float = 580.0) -> Step:
        last = NOW - timedelta(minutes=minutes)
        part = partition("p", files, last_change=last - timedelta(hours=1))
        rates = CommitRates(commits=100, row_changes=RowChanges(last, 600.0, short))
        return steps(table(part, rates=rates))["rewrite_data_files"]

    assert step(4.7).wanted, "it is over before the next statement begins"
    late = step(4.82)
    assert (late.wanted, late.due) == (False, NOW + timedelta(minutes=80 - 4.82))
    assert "writers that change rows are at work" in late.reason
    assert not step(4.7, short=100).wanted, "they come irregularly"
    assert step(80).wanted, "they pause"
    assert step(9, files=200).wanted, "there are very many files"


def test_one_call_takes_no_more_bytes_than_it_may_and_the_best_first() -> None:
    parts = [partition(str(i), 20 + i, 10 * MB) for i in range(5)]
    step = steps(table(*parts), most_bytes=25 * MB)["rewrite_data_files"]
    assert step.size == 20 * MB
    assert step.arguments is not None
    assert step.arguments["filter"] == "(\"p\" = '4') OR (\"p\" = '3')"
    assert "3 partitions are left for the next call" in step.reason


def test_a_table_that_was_rewritten_more_than_written_needs_a_better_reason() -> None:
    state = table(partition(files=12))
    assert steps(state)["rewrite_data_files"].wanted
    amplified = replace(state, rates=CommitRates(appended=MB, rewritten=4 * MB))
    step = steps(amplified)["rewrite_data_files"]
    assert not step.wanted
    assert "wanted is 2" in step.reason


def test_after_setbacks_it_waits_longer_each_time() -> None:
    state = table(partition(files=40))
    for setbacks, minutes, wanted in ((1, 1, False), (1, 3, True), (3, 7, False), (3, 9, True)):
        past = Past(setbacks=setbacks, last_setback=NOW - timedelta(minutes=minutes))
        told = backed_off(Question(state, DEFAULT, past, NOW))
        assert (told is None) is wanted, (setbacks, minutes)
        assert told is None or told.startswith(f"{setbacks} tries in a row came to nothing, the next is due at 2026-")


def test_a_table_that_another_program_maintains_is_left_alone() -> None:
    found = steps(table(partition(files=40), rates=CommitRates(foreign_rewriter="amoro")))
    assert list(found) == ["maintain"]
    assert found["maintain"].reason.startswith("amoro rewrote the table twice within a day")
    assert steps(table(obstacle="the table is encrypted"))["maintain"].reason == "the table is encrypted"
    off = steps(table(partition(files=40)), replace(DEFAULT, enabled=False))
    assert not off["maintain"].wanted


def test_a_sorted_table_is_sorted_unless_the_policy_says_otherwise() -> None:
    state = table(partition(files=40), sorted=True)
    step = steps(state)["rewrite_data_files"]
    assert step.arguments is not None
    assert step.arguments["strategy"] == "sort"
    packed = steps(state, policy(compaction={"config": {"strategy": "binpack"}}))["rewrite_data_files"]
    assert packed.arguments is not None
    assert "strategy" not in packed.arguments


def test_a_policys_filter_and_partitions_both_hold() -> None:
    rules = policy(compaction={"config": {"filter": "region = 'EU'"}})
    state = table(partition("a", 40), partition("b", 1))
    step = steps(state, rules)["rewrite_data_files"]
    assert step.arguments is not None
    assert step.arguments["filter"] == "(region = 'EU') AND ((\"p\" = 'a'))"


def test_snapshots_expire_in_numbers_and_by_what_the_table_says_first() -> None:
    rules = policy(expiry={"config": {"max_snapshot_age_days": 3, "min_snapshot_to_keep": 4}})
    few = steps(table(expirable_snapshots=19), rules)["expire_snapshots"]
    assert not few.wanted
    many = table(expirable_snapshots=20)
    step = steps(many, rules)["expire_snapshots"]
    assert step.arguments == {"older_than": NOW - timedelta(days=3), "retain_last": 4}
    own = replace(many, properties={"history.expire.max-snapshot-age-ms": "1"})
    assert steps(own, rules)["expire_snapshots"].arguments == {"retain_last": 4}
    kept = replace(many, keeps_files="gc.enabled is false")
    assert not steps(kept, rules)["expire_snapshots"].wanted


def test_orphans_only_by_policy_in_their_interval_and_never_after_a_failure() -> None:
    state = table()
    assert not steps(state)["remove_orphan_files"].wanted
    rules = policy(orphans={"enable": True, "max_orphan_file_age_in_days": 3})
    assert steps(state, rules)["remove_orphan_files"].arguments == {"older_than": NOW - timedelta(days=3)}
    lately = Past(last_orphans=NOW - timedelta(days=6))
    assert not steps(state, rules, lately)["remove_orphan_files"].wanted
    failed = Past(setbacks=1, last_setback=NOW - timedelta(hours=20))
    assert "never right after a failure" in steps(state, rules, failed)["remove_orphan_files"].reason


def test_manifests_equality_deletes_dangling_deletes_and_statistics() -> None:
    state = table(
        partition(files=2, equality_files=2, equality_deletes=50),
        small_manifests=100,
        dangling_deletes=1,
        stale_statistics={"compute_table_stats": 0.3, "compute_partition_stats": 0.01},
    )
    wanted = [name for name, step in steps(state).items() if step.wanted]
    assert wanted == [
        "convert_equality_deletes", "remove_dangling_deletes", "rewrite_manifests", "compute_table_stats",
    ]  # fmt: skip


def test_old_partitions_go_once_a_day_where_a_policy_says_so() -> None:
    rules = replace(
        DEFAULT, partitions=PartitionExpiry.model_validate({"enable": True, "config": {"expire-after": "90d"}})
    )
    assert "expire_partitions" not in steps(table(divided_by_time=True))
    step = steps(table(divided_by_time=True), rules)["expire_partitions"]
    assert step.arguments == {"older_than": NOW - timedelta(days=90)}
    assert not steps(table(), rules)["expire_partitions"].wanted
    again = Past(last_partitions=NOW - timedelta(hours=23))
    assert not steps(table(divided_by_time=True), rules, again)["expire_partitions"].wanted


def test_a_step_becomes_a_statement_in_which_nothing_is_spliced() -> None:
    text = call_text('la"ke', "d'b", "t", "rewrite_data_files", {"filter": "a = 'x'; --", "options": {"k": "v'"}})
    assert text == (
        "CALL \"la\"\"ke\".system.rewrite_data_files(schema => 'd''b', table_name => 't', "
        "filter => 'a = ''x''; --', options => MAP(ARRAY['k'], ARRAY['v''']))"
    )
    moment = call_text("c", "s", "t", "expire_snapshots", {"older_than": NOW, "retain_last": 3})
    assert moment.endswith("older_than => TIMESTAMP '2026-11-23 12:00:00 UTC', retain_last => 3)")


def test_files_that_share_keys_are_sorted_where_the_table_has_an_order() -> None:
    deep = {"files": 100, "size": 100 * 512 * MB, "small_files": 0, "small_size": 0, "overlap_size": 8 * 512 * MB}
    shared = partition("p", **deep, overlap_depth=9, average_depth=8.5)
    past = Past(scans_per_day=50)
    step = steps(table(shared, sorted=True), past=past)["rewrite_data_files"]
    assert step.wanted
    assert step.arguments is not None
    assert step.arguments["strategy"] == "sort"
    assert step.arguments["options"]["min-overlap-depth"] == "4"  # type: ignore[index]
    assert step.size == 8 * 512 * MB, "the largest run stays"
    assert "up to 9 that share keys" in step.reason
    assert not steps(table(shared), past=past)["rewrite_data_files"].wanted, "no order"
    packed = policy(compaction={"config": {"strategy": "binpack"}})
    assert not steps(table(shared, sorted=True), packed, past)["rewrite_data_files"].wanted
    off = policy(compaction={"config": {"min-overlap-depth": None}})
    assert not steps(table(shared, sorted=True), off, past)["rewrite_data_files"].wanted
    few = steps(table(shared, sorted=True), policy(compaction={"config": {"min-overlap-depth": 10}}), past)
    assert "nor keys that 10 files share (most: 9)" in few["rewrite_data_files"].reason


def test_files_out_of_order_are_sorted_where_the_policy_says_so() -> None:
    stale = partition("p", 100, 100 * 512 * MB, small_files=50, small_size=50, stale_files=3, stale_size=3 * 512 * MB)
    past = Past(scans_per_day=5000)
    asked = policy(compaction={"config": {"rewrite-stale-sort-order": True, "min-input-files": 80}})
    step = steps(table(stale, sorted=True), asked, past)["rewrite_data_files"]
    assert step.wanted
    assert step.arguments is not None
    assert step.arguments["options"]["rewrite-stale-sort-order"] == "true"  # type: ignore[index]
    plain = policy(compaction={"config": {"min-input-files": 80}})
    assert not steps(table(stale, sorted=True), plain, past)["rewrite_data_files"].wanted
