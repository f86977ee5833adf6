"""What dialects remember of requests holds no key."""

from __future__ import annotations

from collections.abc import Callable
from functools import _CacheInfo

import pytest

from penstock.dialects.emodb import requests as emodb_requests
from penstock.dialects.emodb.dialect import Emodb
from penstock.dialects.http import Dialect, Request
from penstock.dialects.lmstfy import requests as lmstfy_requests
from penstock.dialects.lmstfy.dialect import Lmstfy
from penstock.dialects.wire import raw_parameter, without_parameter


@pytest.mark.parametrize(
    ("dialect", "method", "path", "query", "cache"),
    [
        (Lmstfy(), "PUT", "/api/ns/q", "ttl=17&token={}", lmstfy_requests._terms_of.cache_info),  # noqa: SLF001
        (Lmstfy(), "GET", "/api/ns/q", "token={}&ttr=17", lmstfy_requests._wish_of.cache_info),  # noqa: SLF001
        (Emodb(), "GET", "/queue/1/q/poll", "APIKey={}&ttl=17", emodb_requests._poll.cache_info),  # noqa: SLF001
    ],
    ids=["publish", "consume", "poll"],
)
def test_the_same_request_with_many_keys_is_remembered_once(
    dialect: Dialect, method: str, path: str, query: str, cache: Callable[[], _CacheInfo]
) -> None:
    before = cache().currsize
    read = {repr(dialect.read(Request(method, path, query.format(f"key-{n}"), {}))) for n in range(20)}
    assert len(read) == 1
    assert cache().currsize <= before + 1


@pytest.mark.parametrize(
    ("query", "key", "rest"),
    [
        ("", None, ""),
        ("token=abc", "abc", ""),
        ("a=1&token=abc&b=2", "abc", "a=1&b=2"),
        ("a=1&token=a%2Bb+c", "a+b c", "a=1"),
        ("token=one&token=two", "one", ""),
        ("token=", None, ""),
        ("mytoken=abc", None, "mytoken=abc"),
        ("tokens=abc&token=x", "x", "tokens=abc"),
    ],
)
def test_a_key_is_taken_out_of_a_query(query: str, key: str | None, rest: str) -> None:
    assert raw_parameter(query, "token") == key
    assert without_parameter(query, "token") == rest
