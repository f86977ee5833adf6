"""What commands need, and that a request's head never asks for less."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.core import commands as c
from penstock.core.model import Content, Phase, QueueName, Redrive, Settings
from penstock.dialects.http import Dialect, KeyRequest, Request, Response
from penstock.dialects.lmstfy.admin import LmstfyAdmin
from penstock.keys.grants import Action, Need, Needs
from penstock.keys.needs import needs_of
from penstock.server.routing import Router
from tests.transcripts.reader import Ask, read_transcript
from tests.transcripts.speakers import speakers

PUBLISH, CONSUME, INSPECT, ADMINISTER = Action.PUBLISH, Action.CONSUME, Action.INSPECT, Action.ADMINISTER
JOBS, MAIL = QueueName("default", "jobs"), QueueName("default", "mail")
ID = b"i" * 16
DRAFT = c.Draft(Content(b""))
REDRIVEN = Settings(redrive=Redrive(1, "mail"))


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        (c.Publish(JOBS, ()), [Need(PUBLISH, JOBS)]),
        (
            c.PublishAll((c.Publish(JOBS, ()), c.Publish(MAIL, ()))),
            [Need(PUBLISH, JOBS), Need(PUBLISH, MAIL)],
        ),
        (c.Claim((JOBS, MAIL)), [Need(CONSUME, JOBS), Need(CONSUME, MAIL)]),
        (c.Acknowledge("default", "jobs", (ID,)), [Need(CONSUME, JOBS, is_answer=True)]),
        (c.Acknowledge("default", None, (ID,)), [Need(CONSUME, namespace="default", is_answer=True)]),
        (c.Renew(JOBS, (ID,), 1), [Need(CONSUME, JOBS, is_answer=True)]),
        (c.ReleaseAll(JOBS), [Need(CONSUME, JOBS, is_answer=True)]),
        (c.Republish(JOBS, ID, DRAFT), [Need(PUBLISH, JOBS), Need(CONSUME, JOBS, is_answer=True)]),
        (c.Peek(JOBS), [Need(INSPECT, JOBS)]),
        (c.Inspect(JOBS, ID), [Need(INSPECT, JOBS)]),
        (c.DescribeQueue(JOBS), [Need(INSPECT, JOBS)]),
        (c.ListQueues("default"), [Need(INSPECT, namespace="default")]),
        (c.Purge(JOBS, (Phase.READY,)), [Need(ADMINISTER, JOBS)]),
        (c.DropDead(JOBS, 1), [Need(ADMINISTER, JOBS)]),
        (c.Respawn(JOBS, 1, None), [Need(ADMINISTER, JOBS)]),
        (c.DeleteQueue(JOBS), [Need(ADMINISTER, JOBS)]),
        (c.CreateQueue(JOBS, Settings()), [Need(ADMINISTER, JOBS)]),
        (c.UpdateQueue(JOBS, c.Malformed("")), [Need(ADMINISTER, JOBS)]),
        # Or else whoever administers one queue could have messages put into any other.
        (c.CreateQueue(JOBS, REDRIVEN), [Need(ADMINISTER, JOBS), Need(PUBLISH, MAIL)]),
        (c.UpdateQueue(JOBS, REDRIVEN), [Need(ADMINISTER, JOBS), Need(PUBLISH, MAIL)]),
        (c.StartMove(JOBS, MAIL), [Need(CONSUME, JOBS), Need(PUBLISH, MAIL)]),
        (c.DescribeMove("reference"), []),
    ],
)
def test_a_command_needs_just_this(command: c.Command, needs: list[Need]) -> None:
    assert list(needs_of(command)) == needs


TRANSCRIPTS = Path(__file__).parent.parent / "transcripts"


def requests_of(folder: str) -> list[tuple[Dialect, Request]]:
    """Everything that anybody asks in the transcripts of one dialect."""
    found = []
    for path in sorted(TRANSCRIPTS.glob(f"{folder}/*.txt")):
        transcript = read_transcript(path)
        dialects = speakers(folder, transcript.settings)
        router = Router(dialects, dialects[0])
        for step in transcript.steps:
            if isinstance(step, Ask):
                target, _, query = step.target.text.decode().partition("?")
                headers = {name.lower().encode(): value.text for name, value in step.headers}
                request = Request(step.method, target, query, headers, step.body.text)
                found.append((router.route(request.method, target), request))
    return found


def told_by_head(command: c.Command) -> Needs:
    """What of a command's needs its head can tell."""
    match command:
        case c.PublishAll():
            return (Need(PUBLISH, namespace=command.parts[0].name.namespace),)
        case c.CreateQueue() | c.UpdateQueue():
            return (Need(ADMINISTER, command.name),)
        case _:
            return needs_of(command)


@pytest.mark.parametrize("folder", ["emodb", "lmstfy", "mqcore", "mqs", "native"])
def test_a_head_that_leads_to_a_command_asks_for_all_that_the_command_needs(folder: str) -> None:
    commands_seen = 0
    for dialect, request in requests_of(folder):
        asked = dialect.read(request)
        if isinstance(asked, c.Command):
            commands_seen += 1
            needs = dialect.needs(request)
            assert needs, f"{request.method} {request.path} is open to everybody"
            assert set(told_by_head(asked)) <= set(needs), f"{request.method} {request.path}"
    assert commands_seen > (0 if folder == "native" else 20)


def test_no_head_of_the_administrators_routes_is_open_away_from_loopback() -> None:
    dialect = LmstfyAdmin(is_local=False)
    for _, request in requests_of("lmstfy-admin"):
        assert dialect.needs(request) == (Need(ADMINISTER),)
        assert isinstance(dialect.read(request), KeyRequest | Response)
