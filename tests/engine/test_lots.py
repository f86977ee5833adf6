"""Ids for new messages cannot be guessed, and lead to their place in the journal."""

from __future__ import annotations

from penstock.core.ids import published_at_ms_of, sequence_of
from penstock.engine.lots import IdMaker


def test_ids_made_in_the_same_moment_under_the_same_number_differ() -> None:
    make = IdMaker()
    made = {make(1000, 7) for _ in range(3000)}
    assert len(made) > 2990  # 32 bits by chance may meet, but hardly ever do
    assert {published_at_ms_of(one) for one in made} == {1000}
    assert {sequence_of(one) for one in made} == {7}


def test_two_makers_draw_other_lots() -> None:
    assert [IdMaker()(1000, 7) for _ in range(2)] != [IdMaker()(1000, 7) for _ in range(2)]
