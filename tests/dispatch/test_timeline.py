from datetime import UTC, datetime

from coordinator.dispatch.timeline import VERBS, Timeline


class Clock:
    def __init__(self):
        self.time = 100.0

    def now(self):
        return datetime.now(UTC)

    def monotonic(self):
        return self.time


def test_verbs_are_those_of_the_design():
    assert VERBS == (
        "receive",
        "parse",
        "analyze",
        "plan",
        "optimize",
        "fragment",
        "check",
        "queue",
        "dispatch",
        "deliver",
    )


def test_running_ended_and_recorded_verbs():
    clock = Clock()
    timeline = Timeline(clock)
    timeline.record({"plan": 0.5, "parse": 0.25, "other": 9.0})
    with timeline.measure("check"):
        clock.time += 2
    timeline.start("queue")
    clock.time += 3
    assert timeline.seconds() == {"parse": 0.25, "plan": 0.5, "check": 2.0, "queue": 3.0}
    timeline.start("queue")
    timeline.stop("dispatch")
    clock.time += 1
    timeline.stop_all()
    clock.time += 50
    timeline.start("queue")
    assert timeline.seconds()["queue"] == 4.0
    assert list(timeline.seconds()) == ["parse", "plan", "check", "queue"]
