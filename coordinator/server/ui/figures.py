"""The numbers of the overview: of one coordinator, and of several together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from coordinator.dispatch.dispatcher import Dispatcher
from coordinator.dispatch.totals import percentile
from coordinator.server.ui.activity import INTERVAL, Activity, Sample

_COUNTED = ("CompletedQueries", "FailedQueries")


@dataclass(frozen=True, slots=True)
class Figures:
    """Now, within the last hour (the oldest first), within the last minute, and since the start.

    ``times`` are seconds of statements that ended within the last interval, by which latencies of several
    coordinators together are known.
    """

    now: Sample
    past: tuple[Sample, ...]
    times: tuple[float, ...]
    minute: Mapping[str, int]
    ever: Mapping[str, int]


def figures_of(dispatcher: Dispatcher, activity: Activity) -> Figures:
    """Of this coordinator; on the event loop, to which its numbers belong."""
    totals = dispatcher.totals
    window, minute = totals.last(INTERVAL), totals.last(60.0).counts
    return Figures(
        activity.sample(),
        activity.samples,
        tuple(run + wait for run, wait in zip(window.execution, window.queued, strict=True)),
        {name: minute[name] for name in _COUNTED},
        {name: totals.counts[name] for name in _COUNTED},
    )


def together(figures: Sequence[Figures]) -> Figures:
    """Of several coordinators, the first of which is asked."""
    if len(figures) == 1:
        return figures[0]
    times = [seconds for each in figures for seconds in each.times]
    latencies = (percentile(times, 0.5), percentile(times, 0.95))
    longest = max(len(each.past) for each in figures)
    return Figures(
        _sum([each.now for each in figures], lambda _samples: latencies),
        tuple(_sum(_aged(figures, age), _mean_latencies) for age in range(longest, 0, -1)),
        tuple(times),
        {name: sum(each.minute.get(name, 0) for each in figures) for name in _COUNTED},
        {name: sum(each.ever.get(name, 0) for each in figures) for name in _COUNTED},
    )


def _aged(figures: Sequence[Figures], age: int) -> list[Sample]:
    """The samples of one interval in the past, to which coordinators agree within its length."""
    return [each.past[-age] for each in figures if len(each.past) >= age]


def _sum(samples: Sequence[Sample], latencies: Callable[[Sequence[Sample]], tuple[float, float]]) -> Sample:
    return Sample(
        samples[0].time,
        sum(each.running for each in samples),
        sum(each.queued for each in samples),
        sum(each.rate for each in samples),
        sum(each.failed for each in samples),
        *latencies(samples),
        sum(each.memory for each in samples),
    )


def _mean_latencies(samples: Sequence[Sample]) -> tuple[float, float]:
    """By statements: of the past each coordinator kept its own median and its own 95 % alone."""
    rate = sum(each.rate for each in samples)
    if rate == 0.0:
        return 0.0, 0.0
    return sum(each.median * each.rate for each in samples) / rate, sum(
        each.slow * each.rate for each in samples
    ) / rate
