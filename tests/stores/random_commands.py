"""Commands drawn at random, weighted so that most of them find something to do.

There are few queues, bodies and spans of time: so equal bodies meet, queues are made again under their
names, and many things fall due in the same millisecond.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from penstock.core import commands as c
from penstock.core.model import Content, Phase, QueueName, Redrive, Settings

NAMES = [
    QueueName("default", "a"),
    QueueName("default", "b"),
    QueueName("default", "dead"),
    QueueName("dedup", "a"),
    QueueName("dedup", "dead"),
]
COLLAPSES = {name: name.namespace == "dedup" for name in NAMES}

names = st.sampled_from([*NAMES, QueueName("default", "a"), QueueName("dedup", "a")])
phases = st.sampled_from(
    [
        (Phase.READY,),
        (Phase.READY, Phase.DELAYED, Phase.CLAIMED, Phase.COPY),
        (Phase.DEAD, Phase.CLAIMED),
        tuple(Phase),
    ]
)
limits = st.sampled_from([1, 2, 7])
spans_ms = st.sampled_from([0, 10, 10, 100, 1000])

sent = st.builds(
    Content,
    st.sampled_from([b"1", b" 1", b"2", b"{}", b"\xff", b""]),
    st.sampled_from(["application/octet-stream", "text/plain"]),
    st.sampled_from([None, None, "gzip"]),
    st.sampled_from([None, None, "trace"]),
)
drafts = st.builds(
    c.Draft,
    sent,
    delay_ms=st.sampled_from([None, None, None, 0, 10, 100]),
    ttl_ms=st.sampled_from([None, None, None, None, 10, 1000]),
    tries=st.sampled_from([None, None, 1, 2]),
)
publishes = st.builds(
    c.Publish,
    names,
    st.lists(drafts, min_size=1, max_size=4).map(tuple),
    st.sampled_from([c.IfMissing.CREATE, c.IfMissing.CREATE, c.IfMissing.REFUSE]),
    st.sampled_from([None, None, None, "k", "l"]),
    st.sampled_from(["mqs", "lmstfy"]),
)
publishes_to_several = st.builds(
    c.PublishAll, st.lists(publishes, min_size=2, max_size=3).map(tuple), dialect=st.just("emodb")
)
claims = st.builds(
    c.Claim,
    st.lists(names, min_size=1, max_size=3, unique=True).map(tuple),
    limits,
    hidden_ms=st.sampled_from([None, None, 10, 10, 100, 0]),
    wait_ms=st.sampled_from([0, 0, 50]),
    if_missing=st.sampled_from([c.IfMissing.EMPTY, c.IfMissing.EMPTY, c.IfMissing.REFUSE]),
    only_looks=st.sampled_from([False, False, False, False, True]),
    dialect=st.sampled_from(["mqs", "lmstfy"]),
)


def settings_for(name: QueueName) -> SearchStrategy[Settings]:
    """Settings with a redrive policy more often than not, also one that leads back to the queue itself."""
    return st.builds(
        Settings,
        visibility_ms=st.sampled_from([10, 100]),
        delay_ms=st.sampled_from([0, 0, 0, 10]),
        retention_ms=st.sampled_from([None, None, None, 1000, 10]),
        deduplicate=st.booleans(),
        collapse=st.just(COLLAPSES[name]),
        redrive=st.sampled_from([None, Redrive(1, "dead"), Redrive(2, "dead"), Redrive(1, "a")]),
    )


updates = names.flatmap(lambda name: st.builds(c.UpdateQueue, st.just(name), settings_for(name)))
creations = names.flatmap(
    lambda name: st.builds(c.CreateQueue, st.just(name), settings_for(name), st.booleans())
)
deletions = st.builds(c.DeleteQueue, names)
changes_of_queues = updates | updates | updates | creations | deletions
sweeps = (
    st.builds(c.Purge, names, phases)
    | st.builds(c.DropDead, names, limits)
    | st.builds(c.Respawn, names, limits, st.sampled_from([None, 100]))
    | st.builds(c.ReleaseAll, names)
    | st.builds(c.StartMove, names, names)
)
looks = (
    st.builds(c.Peek, names, limits, phases)
    | st.builds(c.DescribeQueue, names, st.booleans())
    | st.builds(c.ListQueues, st.sampled_from(["default", "dedup"]), st.integers(0, 2), st.none() | limits)
)
