"""Grants as people write them."""

from __future__ import annotations

import re

import pytest

from penstock.core.errors import ConfigError
from penstock.keys.grants import Action, Grant, parse_grant


def test_a_grant_is_actions_a_namespace_and_a_queue() -> None:
    assert parse_grant("publish:default/jobs") == Grant((Action.PUBLISH,), "default", "jobs")
    assert parse_grant("inspect,consume:shop*/*") == Grant((Action.CONSUME, Action.INSPECT), "shop*", "*")


def test_a_queue_may_have_colons_and_slashes_in_its_name() -> None:
    assert parse_grant("publish:default/a:b@c/d") == Grant((Action.PUBLISH,), "default", "a:b@c/d")


def test_a_grant_is_written_as_it_is_read() -> None:
    for text in ("publish,consume:default/jobs-*", "journal:*/*", "inspect,administer:shop/*"):
        assert str(parse_grant(text)) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("publish", "it is not ACTIONS:NAMESPACE/QUEUE"),
        ("publish:jobs", "it is not ACTIONS:NAMESPACE/QUEUE"),
        ("publish:/jobs", "a name is missing"),
        ("publish:default/", "a name is missing"),
        ("fly:default/jobs", "there is no action 'fly', only publish, consume, inspect, administer, journal"),
        ("publish,:default/jobs", "there is no action ''"),
        (":default/jobs", "there is no action ''"),
        ("publish:default/*-jobs", "a * can only be at the end of a name"),
        ("publish:default/**", "a * can only be at the end of a name"),
        ("publish:default/a\nb", "all of them printable"),
        ("publish:default/" + "a" * 256, "at most 255 letters"),
        ("journal:default/jobs", "journal:*/* only"),
        ("publish,journal:*/jobs", "journal:*/* only"),
    ],
)
def test_a_grant_that_cannot_be_meant_is_refused_with_examples(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(why)) as refusal:
        parse_grant(text)
    assert "publish:default/jobs" in refusal.value.hint
