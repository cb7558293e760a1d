"""A choice among words: where they do not all fit, marks say so, and the chosen one is in sight."""

from __future__ import annotations

import pytest

from housequest.tui.widgets.lines import ChoiceBar
from tests.tui.episode.pane import Alone, text

pytestmark = pytest.mark.anyio

WORDS = ("expert", "react", "reasoner-actor", "opex", "socratic")


@pytest.mark.parametrize(
    ("width", "chosen", "shown"),
    [
        (80, "opex", "expert  react  reasoner-actor  ● opex  socratic"),
        (40, "expert", "● expert  react  reasoner-actor  opex ›"),
        (30, "react", "expert  ● react ›"),
        (30, "opex", "‹ reasoner-actor  ● opex ›"),
        (30, "socratic", "‹ opex  ● socratic"),
    ],
)
async def test_words_without_room_leave_a_mark(width: int, chosen: str, shown: str) -> None:
    bar = ChoiceBar()
    async with Alone(bar).run_test(size=(width, 3)) as pilot:
        bar.offer(WORDS, chosen)
        await pilot.pause()
        assert text(bar).strip() == shown
        assert len(shown) <= width
