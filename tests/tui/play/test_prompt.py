"""The prompt: what is asked, and the keys, in the room there is."""

from __future__ import annotations

import asyncio
from typing import get_args

import pytest
from textual.app import App, ComposeResult
from textual.binding import Binding

from housequest.tui.play.live_screen import PromptBar, PromptKind, hints
from housequest.tui.theme import register_themes

WORDS = {"enter": "accept", "e": "edit", "o": "other", "t": "take over", "?": "hint"}
KEYS = hints([Binding("question_mark", "app.hint", key_display="?")], WORDS)
FAILURE = "The endpoint http://127.0.0.1:8000/v1 did not answer in 5 attempts (connection refused); is the server running?"


class Screen(App[None]):
    """A prompt and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        register_themes(self)
        self.hints = 0

    def compose(self) -> ComposeResult:
        yield PromptBar()

    def action_hint(self) -> None:
        self.hints += 1


def said(width: int, kind: PromptKind, text: str, keys: tuple[Binding, ...] = KEYS, seconds: float | None = None) -> list[str]:
    async def run() -> list[str]:
        app = Screen()
        async with app.run_test(size=(width, 24)) as pilot:
            prompt = app.query_one(PromptBar)
            prompt.show(kind, text, keys, seconds)
            await pilot.pause()
            return [prompt.render_line(y).text.rstrip() for y in range(prompt.size.height)]

    return asyncio.run(run())


def test_a_broad_window_has_it_all_in_a_line() -> None:
    (line,) = said(120, "proposed", "take egg 3 from countertop 2")
    assert line.lstrip().startswith("▸ proposed  take egg 3 from countertop 2   ")
    assert line.endswith("enter accept · e edit · o other · t take over · ? hint")


def test_a_narrow_one_has_two_of_which_the_keys_are_shortened() -> None:
    assert said(80, "proposed", "take egg 3 from countertop 2") == [
        "▸ proposed  take egg 3 from countertop 2",
        "enter accept · e edit · o other · t take over · ? hint",
    ]
    assert said(50, "proposed", "look")[1] == "enter accept  e edit  o other  t take  ? hint"
    assert said(30, "proposed", "look")[1] == "enter accept  e edit"


def test_in_a_line_the_keys_are_shortened_before_the_text() -> None:
    text = "take peppershaker 3 from countertop 2 and put it"
    (line,) = said(100, "proposed", text)
    assert text in line and "enter accept" in line and "hint" not in line


@pytest.mark.parametrize(("width", "lines"), [(120, 2), (80, 2), (60, 3)])
def test_a_failure_is_told_in_full_where_it_needs_more_lines(width: int, lines: int) -> None:
    *told, keys = said(width, "failed", FAILURE)
    assert len(told) == lines
    assert " ".join(told) == f"! the model failed  {FAILURE}"
    assert "enter" in keys


def test_seconds_are_shown_where_they_are_told() -> None:
    assert said(80, "thinking", "reasoner is thinking")[0] == "… reasoner is thinking"
    assert said(80, "thinking", "reasoner is thinking", seconds=4.2)[0] == "… reasoner is thinking  4 s"


@pytest.mark.heavy
@pytest.mark.parametrize("width", [3, 24, 80, 200])
def test_any_text_of_any_kind_fits_any_width(width: int) -> None:
    async def run() -> None:
        app = Screen()
        async with app.run_test(size=(width, 24)) as pilot:
            prompt = app.query_one(PromptBar)
            for kind in get_args(PromptKind):
                for text in ("", "[b]x\x1b[31m\ud800", "日本語" * 90, "x" * 20_000):
                    prompt.show(kind, text, KEYS)
                    await pilot.pause()
                    lines = [prompt.render_line(y) for y in range(prompt.size.height)]
                    assert 1 <= len(lines) <= 4
                    assert all(line.cell_length <= width for line in lines)
                    assert "\x1b" not in "".join(line.text for line in lines)

    asyncio.run(run())


def test_a_click_on_a_key_does_what_it_says() -> None:
    async def run() -> None:
        app = Screen()
        async with app.run_test(size=(80, 24)) as pilot:
            app.query_one(PromptBar).show("proposed", "look", KEYS)
            await pilot.pause()
            await pilot.click(PromptBar, offset=(52, 1))
            await pilot.click(PromptBar, offset=(3, 1))
            await pilot.pause()
            assert app.hints == 1

    asyncio.run(run())
