"""The judge of the crash tests: it finds every kind of broken promise, and no fault where there is none."""

from __future__ import annotations

import pytest

from tests.crash.history import History, faults

VISIBILITY_S = 10.0


class Script:
    """A history written by hand, on a clock that stands still between steps."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.history = History(lambda: self.now_s)

    def publish(self, label: str = "m", *, is_answered: bool = True) -> None:
        self.history.publish_tried(label, "q")
        if is_answered:
            self.history.publish_promised(label)
        self.now_s += 1

    def receive(self, label: str = "m", *, message_id: str = "id", asked_s_ago: float = 0.0) -> None:
        self.history.received(label, message_id, self.now_s - asked_s_ago, VISIBILITY_S)
        self.now_s += 1

    def delete(self, label: str = "m", *, status: int | None = 204) -> None:
        self.history.delete_tried(label)
        if status == 204:
            self.history.delete_promised(label)
        elif status == 404:
            self.history.delete_missed(label)
        self.now_s += 1

    def faults(self, **kept: list[str]) -> list[str]:
        return faults(self.history, kept)


@pytest.fixture
def script() -> Script:
    return Script()


def test_a_message_that_is_published_received_and_deleted_is_no_fault(script: Script) -> None:
    script.publish()
    script.receive()
    script.delete()
    assert script.faults() == []


def test_a_message_that_is_still_kept_is_no_fault(script: Script) -> None:
    script.publish()
    script.receive()
    assert script.faults(m=["id"]) == []


def test_a_promised_message_that_is_nowhere_is_lost(script: Script) -> None:
    script.publish()
    assert script.faults() == ["m: lost"]


def test_a_publish_without_an_answer_may_have_happened_or_not(script: Script) -> None:
    script.publish(is_answered=False)
    assert script.faults() == []
    assert script.faults(m=["id"]) == []


def test_a_message_that_was_delivered_is_there_even_if_its_publish_had_no_answer(script: Script) -> None:
    script.publish(is_answered=False)
    script.receive()
    assert script.faults() == ["m: lost"]


def test_a_deletion_without_an_answer_may_have_happened_or_not(script: Script) -> None:
    script.publish()
    script.receive()
    script.delete(status=None)
    assert script.faults() == []
    assert script.faults(m=["id"]) == []


def test_a_deleted_message_that_is_kept_is_a_fault(script: Script) -> None:
    script.publish()
    script.receive()
    script.delete()
    assert script.faults(m=["id"]) == ["m: kept after its deletion was promised"]


def test_a_message_that_comes_back_after_its_deletion_is_a_fault(script: Script) -> None:
    script.publish()
    script.receive()
    script.delete()
    script.now_s += VISIBILITY_S
    script.receive()
    assert script.faults() == ["m: delivered after its deletion was promised"]


def test_a_delivery_asked_for_before_the_deletion_was_answered_is_no_return(script: Script) -> None:
    script.publish()
    script.receive()
    script.now_s += VISIBILITY_S
    script.delete()
    script.receive(asked_s_ago=2)
    assert script.faults() == []


def test_two_deliveries_within_one_visibility_timeout_are_a_fault(script: Script) -> None:
    script.publish()
    script.receive()
    script.now_s += 4
    script.receive()
    assert script.faults(m=["id"]) == ["m: delivered again after 5.000 of 10.0 seconds"]


def test_a_crash_does_not_excuse_a_second_delivery(script: Script) -> None:
    script.publish()
    script.receive()
    script.history.crashes += 1
    script.receive()
    assert script.faults(m=["id"]) == ["m: delivered again after 1.000 of 10.0 seconds"]


def test_a_delivery_after_the_visibility_timeout_is_no_fault(script: Script) -> None:
    script.publish()
    script.receive()
    script.now_s += VISIBILITY_S - 1
    script.receive()
    assert script.faults(m=["id"]) == []


def test_the_time_a_consumer_waited_for_its_message_is_not_part_of_the_timeout(script: Script) -> None:
    """The claim happened no sooner than it was asked for: only then is a second delivery surely too soon."""
    script.publish()
    script.receive(asked_s_ago=4)
    script.now_s += 5
    script.receive()
    assert script.faults(m=["id"]) == []


def test_a_message_that_is_kept_twice_is_a_fault(script: Script) -> None:
    script.publish()
    assert script.faults(m=["id", "other"]) == [
        "m: published once, and there as ['id', 'other'], 2 of them kept"
    ]


def test_a_message_that_is_delivered_under_two_ids_is_a_fault(script: Script) -> None:
    script.publish()
    script.receive()
    script.now_s += VISIBILITY_S
    script.receive(message_id="other")
    assert script.faults(m=["id"]) == ["m: published once, and there as ['id', 'other'], 1 of them kept"]


def test_a_message_that_nobody_sent_is_a_fault(script: Script) -> None:
    script.receive("ghost")
    assert script.faults(spectre=["id"]) == [
        "ghost: received, and never sent",
        "spectre: kept, and never sent",
    ]


def test_a_message_that_is_gone_when_its_only_consumer_deletes_it_is_a_fault(script: Script) -> None:
    script.publish()
    script.receive()
    script.delete(status=404)
    assert script.faults() == ["m: gone when its consumer deleted it, and nobody else had"]


def test_a_deletion_that_comes_second_finds_nothing_and_that_is_no_fault(script: Script) -> None:
    script.publish()
    script.receive()
    script.delete(status=None)
    script.delete(status=404)
    assert script.faults() == []
