"""EmoDB without an engine: what becomes of any bytes a client or another dialect may send."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from string import ascii_lowercase, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.commands import (
    Acknowledge,
    Claim,
    DescribeQueue,
    Draft,
    IfMissing,
    Publish,
    PublishAll,
    Purge,
)
from penstock.core.ids import make_id, to_uuid
from penstock.core.model import Content, Phase, QueueName
from penstock.core.outcomes import Crashed, Delivered, Delivery, Published, Unavailable
from penstock.dialects.emodb.dialect import Emodb
from penstock.dialects.http import Problem, Request, Response

JOBS = QueueName("default", "jobs")
NOW_MS = 1_704_067_200_000
AN_ID = make_id(NOW_MS, 1, 1)
DEEPER_THAN_PYTHON = 1200
MEANT_IN_JSON = [b"", *(bytes([byte]) for byte in b'"\\[]{},:0-e.ut \n'), b"\\u12"]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
json_texts = json_values.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


@st.composite
def damaged_json(draw: st.DrawFn) -> bytes:
    """A JSON text in which some bytes were replaced by others that mean something in JSON, or nowhere."""
    text = bytearray(draw(json_texts))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        text[at : at + draw(st.integers(0, 2))] = draw(st.sampled_from(MEANT_IN_JSON) | st.binary(max_size=2))
    return bytes(text)


def post(path: str, body: bytes, query: str = "") -> Request:
    return Request("POST", path, query, {b"content-type": b"application/json"}, body)


def get(path: str, query: str = "") -> Request:
    return Request("GET", path, query, {})


def answer_to(request: Request) -> Response:
    answer = Emodb().read(request)
    assert isinstance(answer, Response)
    return answer


def shown(body: bytes, content_type: str = "application/json") -> bytes:
    """The answer to a poll that got one message with this body."""
    content = Content(body, content_type)
    delivery = Delivery(AN_ID, JOBS, content, Phase.CLAIMED, NOW_MS, NOW_MS, None, None, 1, 1)
    return Emodb().write(Claim((JOBS,)), Delivered((delivery,)), NOW_MS).body


def no_constant(name: str) -> None:
    raise ValueError(name)


def strictly(text: bytes) -> object:
    """The value of a JSON text, as the standard library reads it with its liberties taken away."""
    return json.loads(text.decode("utf-8"), parse_constant=no_constant)


def is_strictly_json(text: bytes) -> bool:
    try:
        strictly(text)
    except ValueError:
        return False
    return True


# Any bytes


@given(json_values)
def test_any_json_value_is_published_and_shown_as_it_was_sent(value: object) -> None:
    text = json.dumps(value).encode()
    command = Emodb().read(post("/queue/1/jobs/send", b" \r\n\t" + text + b"\n"))
    if isinstance(command, Response):
        assert "\\ud" in text.decode(), "only half of a surrogate pair is not taken"
        return
    draft = Draft(Content(text, "application/json"))
    assert command == Publish(JOBS, (draft,), IfMissing.CREATE, dialect="emodb")
    assert strictly(shown(text)) == [{"id": to_uuid(AN_ID), "payload": strictly(text)}]


@given(damaged_json() | st.binary())
def test_only_json_is_published_and_nothing_else_breaks_the_answer_to_a_poll(body: bytes) -> None:
    is_taken = isinstance(Emodb().read(post("/queue/1/jobs/send", body)), Publish)
    [message] = json.loads(shown(body))
    if is_taken:
        assert message["payload"] == strictly(body)
    else:
        assert b64decode(message["payload"]["base64"]) == body
        assert b"\\u" in body or not is_strictly_json(body)


@given(st.lists(json_texts, max_size=5), st.sampled_from([b",", b" , ", b"\n,\t"]))
def test_each_message_of_a_batch_keeps_its_bytes(texts: list[bytes], separator: bytes) -> None:
    array = b"[ " + separator.join(texts) + b" ]"
    if not texts:
        assert answer_to(post("/queue/1/jobs/sendbatch", array)).body == b'{"success":true}'
        return
    drafts = tuple(Draft(Content(text, "application/json")) for text in texts)
    one_queue = Publish(JOBS, drafts, IfMissing.CREATE, dialect="emodb")
    assert Emodb().read(post("/queue/1/jobs/sendbatch", array)) == one_queue
    by_queue = Emodb().read(post("/queue/1/_sendbatch", b'{"jobs" : ' + array + b"}"))
    assert by_queue == PublishAll((one_queue,), dialect="emodb")


@pytest.mark.parametrize("path", ["/queue/1/jobs/send", "/queue/1/jobs/sendbatch", "/queue/1/jobs/ack"])
def test_no_depth_of_nesting_is_a_fault(path: str) -> None:
    for depth in range(2, DEEPER_THAN_PYTHON):
        nested = b"[" * depth + b" " + b"]" * depth
        dialect = Emodb(message_bytes_max=2 * depth)  # so that it has to be measured without its blank, too
        read = dialect.read(post(path, nested))
        assert isinstance(read, Publish) or (isinstance(read, Response) and read.status == 400)
        answer = shown(nested)
        assert nested in answer or b64encode(nested) in answer


def test_what_is_not_json_is_shown_with_its_type() -> None:
    assert json.loads(shown(b"hello", "text/plain")) == [
        {"id": to_uuid(AN_ID), "payload": {"contentType": "text/plain", "base64": "aGVsbG8="}}
    ]


# Names and numbers


@given(st.text(alphabet="ab0-.:@_A/ \n", max_size=4) | st.text(max_size=3))
def test_a_queue_name_is_what_the_document_allows(name: str) -> None:
    allowed = frozenset(ascii_lowercase + digits + "-.:@_")
    is_legal = bool(name) and set(name) <= allowed and name not in {".", ".."}
    is_legal = is_legal and (not name.startswith("_") or name.startswith("__"))
    body = json.dumps({name: [1]}).encode()
    read = Emodb().read(post("/queue/1/_sendbatch", body))
    assert isinstance(read, PublishAll) is is_legal


@given(st.integers(-(10**20), 10**20))
def test_a_limit_is_taken_within_its_range_only(limit: int) -> None:
    read = Emodb().read(get("/queue/1/jobs/poll", f"limit={limit}"))
    if 1 <= limit <= 1000:
        assert isinstance(read, Claim)
        assert read.limit == limit
    else:
        assert isinstance(read, Response)
        assert read.status == 400


@given(st.text())
def test_no_text_in_place_of_a_number_is_a_fault(text: str) -> None:
    read = Emodb().read(get("/queue/1/jobs/size", f"limit={text}"))
    assert isinstance(read, DescribeQueue) or (isinstance(read, Response) and read.status == 400)


def test_half_of_a_surrogate_pair_in_a_query_is_answered() -> None:
    assert answer_to(get("/queue/1/jobs/poll", "limit=\ud800")).body == b'"?" is not a number.'


# What is asked of the core


def test_a_poll_claims_for_its_ttl_and_without_one_only_looks() -> None:
    assert Emodb().read(get("/queue/1/jobs/poll")) == Claim(
        (JOBS,), limit=10, hidden_ms=30_000, if_missing=IfMissing.EMPTY, dialect="emodb"
    )
    assert Emodb().read(get("/dedupq/1/jobs/poll", "limit=7&ttl=0")) == Claim(
        (QueueName("dedup", "jobs"),),
        limit=7,
        hidden_ms=0,
        if_missing=IfMissing.EMPTY,
        only_looks=True,
        dialect="emodb",
    )


@pytest.mark.parametrize("path", ["/", "*", "//1/jobs/size", "/queues/1/jobs/size", "/QUEUE/1/jobs/size"])
def test_on_a_port_of_its_own_all_other_paths_are_nobodys(path: str) -> None:
    assert answer_to(get(path)).status == 404


def test_head_looks_where_get_does_and_never_claims() -> None:
    for path in ("/queue/1/jobs/peek", "/queue/1/jobs/size", "/queue/1/jobs/claimcount", "/queue/1/_move/x"):
        assert Emodb().read(Request("HEAD", path, "", {})) == Emodb().read(get(path))
    polled = answer_to(Request("HEAD", "/queue/1/jobs/poll", "", {}))
    assert polled.status == 405
    assert (b"Allow", b"GET") in polled.headers


def test_what_cannot_be_an_id_is_left_out_of_an_acknowledgement() -> None:
    body = json.dumps(["?", to_uuid(AN_ID), "", "g" * 32]).encode()
    assert Emodb().read(post("/queue/1/jobs/ack", body)) == Acknowledge(
        "default", "jobs", (AN_ID,), dialect="emodb"
    )


def test_a_purge_leaves_dead_letters_alone() -> None:
    command = Emodb().read(Request("DELETE", "/queue/1/jobs", "", {}))
    assert isinstance(command, Purge)
    assert set(command.phases) == set(Phase) - {Phase.DEAD}


def test_a_message_does_not_keep_its_whole_request_in_memory() -> None:
    command = Emodb().read(post("/queue/1/jobs/sendbatch", b"[1]"))
    assert isinstance(command, Publish)
    assert isinstance(command.drafts, tuple)
    assert type(command.drafts[0].content.body) is bytes


# What goes wrong on our side


@pytest.mark.parametrize("problem", Problem)
def test_a_refusal_by_the_server_is_in_the_words_of_this_dialect(problem: Problem) -> None:
    response = Emodb().refuse(problem, "the detail")
    assert response.status == problem.value
    assert set(json.loads(response.body)) == {"message"}
    assert ((b"Retry-After", b"1") in response.headers) is (problem is Problem.UNAVAILABLE)


def test_a_publish_is_a_success_only_if_it_was_kept() -> None:
    publish = Publish(JOBS, ())
    dialect = Emodb()
    assert dialect.write(publish, Published(()), NOW_MS).status == 200
    assert dialect.write(publish, Unavailable(), NOW_MS).status == 503
    assert dialect.write(publish, Crashed(), NOW_MS).status == 500
