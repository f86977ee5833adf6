"""Time: it never goes back, and nothing happens before its millisecond or a millisecond late."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.commands import Claim, DeleteQueue, Draft, IfMissing, Publish, StartMove
from penstock.core.limits import SLICE
from penstock.core.model import Content, QueueName
from penstock.core.outcomes import Delivered
from penstock.engine.clock import SteadyClock, wall_clock_ms
from penstock.engine.engine import TRIM_EVERY_MS
from penstock.stores.memory import MemoryStore
from tests.engine.driving import START_MS, Driver

Q = QueueName("default", "q")


def publish(delay_ms: int = 0, ttl_ms: int | None = None, count: int = 1) -> Publish:
    return Publish(Q, (Draft(Content(b"a"), delay_ms, ttl_ms),) * count, IfMissing.CREATE)


@pytest.fixture
def driver() -> Driver:
    driver = Driver(MemoryStore())
    driver.settle()
    return driver


@given(st.integers(0, 100), st.lists(st.integers(0, 100)))
def test_a_steady_clock_shows_the_latest_moment_it_ever_saw(start: int, walls: list[int]) -> None:
    shown = iter(walls)
    clock = SteadyClock(lambda: next(shown), start)
    seen = [clock() for _ in walls]
    assert seen == [max([start, *walls[: index + 1]]) for index in range(len(walls))]


def test_the_wall_clock_is_in_milliseconds_of_unix_time() -> None:
    assert 1_700_000_000_000 < wall_clock_ms() < 2**48


def test_events_never_go_back_in_time_though_the_wall_clock_does(driver: Driver) -> None:
    driver.ask(publish())
    driver.wall_ms -= 5000
    driver.ask(publish())
    driver.wall_ms += 5001
    driver.ask(publish())
    (records,) = driver.store.journal_reader().records(0, 10)
    assert [record.at_ms - START_MS for record in records] == [0, 0, 0, 1]


def test_a_claim_does_not_outlast_its_time_because_the_wall_clock_stepped_back(driver: Driver) -> None:
    driver.ask(publish())
    driver.ask(Claim((Q,), hidden_ms=100))
    driver.jump(-5000)
    driver.jump(5099)
    assert driver.ask(Claim((Q,))) == Delivered(())
    driver.jump(1)
    assert driver.ask(Claim((Q,))) != Delivered(())


@pytest.mark.parametrize(
    "command",
    [
        publish(delay_ms=123),
        publish(ttl_ms=123),
        Claim((Q,), hidden_ms=123),
        Claim((QueueName("default", "empty"),), wait_ms=123, if_missing=IfMissing.EMPTY),
    ],
    ids=["delay", "time to live", "claim", "wait"],
)
def test_the_engine_asks_to_be_run_at_the_very_millisecond(driver: Driver, command: Publish | Claim) -> None:
    driver.ask(publish())
    driver.wall_ms += 10
    driver.submit(command)
    driver.engine.run()
    assert driver.engine.milliseconds_to_next() == 123
    driver.wall_ms += 122
    driver.engine.run()
    assert driver.engine.milliseconds_to_next() == 1
    driver.wall_ms += 1
    assert driver.engine.milliseconds_to_next() == 0
    driver.settle()
    assert driver.engine.milliseconds_to_next() == TRIM_EVERY_MS - 133


def test_a_message_due_is_handed_over_at_its_millisecond_and_not_before(driver: Driver) -> None:
    driver.ask(publish(delay_ms=100))
    waiting = driver.submit(Claim((Q,), wait_ms=5000))
    driver.advance(99)
    assert not waiting.outcomes
    driver.advance(1)
    assert isinstance(waiting.outcome, Delivered)
    assert waiting.outcome.messages[0].at_ms == START_MS + 100 + 30_000


def test_seen_late_things_happen_all_the_same(driver: Driver) -> None:
    driver.ask(publish(delay_ms=100))
    driver.jump(60_000)
    assert driver.ask(Claim((Q,))) != Delivered(())


@pytest.mark.parametrize("command", [DeleteQueue(Q), StartMove(Q, QueueName("default", "other"))])
def test_work_that_goes_on_asks_to_be_run_at_once(driver: Driver, command: DeleteQueue | StartMove) -> None:
    driver.ask(publish(count=2 * SLICE))
    driver.submit(command)
    driver.engine.run()
    assert driver.engine.milliseconds_to_next() == 0
    driver.settle()
    assert driver.engine.milliseconds_to_next() == TRIM_EVERY_MS


def test_an_idle_engine_asks_to_be_run_for_the_next_trim_alone(driver: Driver) -> None:
    assert driver.engine.milliseconds_to_next() == TRIM_EVERY_MS
