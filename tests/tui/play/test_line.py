"""The line: what is typed, completed, sent, remembered and left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from textual.app import App, ComposeResult
from textual.events import Key
from textual.message import Message
from textual.pilot import Pilot

from housequest.agent.skills.language.playing import PlayersLine
from housequest.tui.play.line import CommandLine, CompletionList
from housequest.tui.theme import register_themes
from tests.tui.screen import write_in

COMMANDS = (
    "go to cabinet 1",
    "go to cabinet 2",
    "go to fridge 1",
    "look",
    "open fridge 1",
    "take egg 1 from fridge 1",
    "take egg 2 from fridge 1",
    "take fork 1 from fridge 1",
)


def read(said: str, picked: str | None) -> PlayersLine | None:
    """A reader that knows a few sentences."""
    if picked is not None:
        return PlayersLine(said, (f"take {picked} from fridge 1",))
    known = {
        "grab the fork": PlayersLine("grab the fork", ("open fridge 1", "take fork 1 from fridge 1")),
        "grab one": PlayersLine("grab one", says="Which one?", choices=("egg 1", "egg 2")),
        "where am i": PlayersLine("where am i", says="At fridge 1.", asked=True),
        "stop": PlayersLine("stop", control="stop", asked=True),
        "fly": PlayersLine("fly", says="You cannot fly."),
    }
    return known.get(said)


class Screen(App[None]):
    """A line at the foot of an empty screen; keeps what it was told."""

    CSS = "CommandLine { dock: bottom; }"

    def __init__(self) -> None:
        super().__init__()
        register_themes(self)
        self.heard: list[Message] = []

    def compose(self) -> ComposeResult:
        yield CommandLine(reader=read)

    def on_command_line_submitted(self, message: CommandLine.Submitted) -> None:
        self.heard.append(message)

    def on_command_line_hinted(self, message: CommandLine.Hinted) -> None:
        self.heard.append(message)

    def on_command_line_controlled(self, message: CommandLine.Controlled) -> None:
        self.heard.append(message)

    def on_command_line_left(self, message: CommandLine.Left) -> None:
        self.heard.append(message)

    @property
    def said(self) -> list[str]:
        """What was sent, hints behind a question mark."""
        words = {
            CommandLine.Submitted: lambda message: message.command,
            CommandLine.Hinted: lambda message: f"?{message.text}",
            CommandLine.Left: lambda _: "left",
            CommandLine.Controlled: lambda message: message.word,
        }
        return [words[type(message)](message) for message in self.heard]


def play(
    act: Callable[[CommandLine, Pilot[None], Screen], Awaitable[None]], commands: tuple[str, ...] | None = COMMANDS
) -> None:
    async def run() -> None:
        app = Screen()
        async with app.run_test(size=(80, 24)) as pilot:
            line = app.query_one(CommandLine)
            line.offer(commands)
            line.focus()
            await pilot.pause()
            await act(line, pilot, app)

    asyncio.run(run())


async def press(pilot: Pilot[None], *keys: str | Text) -> None:
    for key in keys:
        await (write_in(pilot, key.text) if isinstance(key, Text) else pilot.press(key))


def pressed(*keys: str | Text) -> list[str]:
    """What was sent after these keys."""
    found: list[str] = []

    async def act(line: CommandLine, pilot: Pilot[None], app: Screen) -> None:
        await press(pilot, *keys)
        await pilot.pause()
        found.extend(app.said)

    play(act)
    return found


@dataclass(frozen=True)
class Text:
    """What is typed as quickly as anybody can, among keys that are waited for."""

    text: str


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        ((Text("look"), "enter"), ["look"]),
        ((Text("opne fridge 1"), "enter"), []),
        ((Text("opne fridge 1"), "enter", "enter"), ["open fridge 1"]),
        ((Text("grab the fork"), "enter"), []),
        ((Text("grab the fork"), "enter", "enter"), ["open fridge 1"]),
        ((Text("grab the fork"), "enter", Text(" now"), "enter"), []),
        ((Text("grab one"), "enter", "2", "enter"), ["take egg 2 from fridge 1"]),
        ((Text("grab one"), "enter", Text("look"), "enter"), ["look"]),
        ((Text("where am i"), "enter", "enter"), []),
        ((Text("fly"), "enter", "enter", "enter"), []),
        ((Text("stop"), "enter"), ["stop"]),
        ((Text("LOOK  "), "enter"), ["look"]),
        ((Text("?in the fridge"), "enter"), ["?in the fridge"]),
        ((Text("t egg fr"), "enter"), []),
        ((Text("t egg fr"), "enter", "enter"), ["t egg fr"]),
        ((Text("t egg fr"), "tab", "enter"), ["take egg 1 from fridge 1"]),
        ((Text("t egg fr"), "down", "enter"), ["take egg 1 from fridge 1"]),
        ((Text("t egg fr"), "down", "down", "enter"), ["take egg 2 from fridge 1"]),
        ((Text("t egg fr"), "down", "down", "up", "up", "enter", "enter"), ["t egg fr"]),
        ((Text("look"), "down", "enter"), ["look"]),
        (("down", "down", "enter"), ["go to cabinet 1"]),
        (("up", "down", "up", "enter"), ["take fork 1 from fridge 1"]),
        (("enter",), []),
        ((Text("go"), "escape"), ["left"]),
    ],
)
def test_what_is_sent(keys: tuple[str | Text, ...], sent: list[str]) -> None:
    assert pressed(*keys) == sent


def test_a_line_that_was_sent_is_empty_and_comes_back_with_up() -> None:
    async def act(line: CommandLine, pilot: Pilot[None], app: Screen) -> None:
        await press(pilot, Text("look"), "enter", Text("?why"), "enter")
        assert app.said == ["look", "?why"]
        values = [line.value]
        for key in ("up", "up", "up", "down", "down"):
            await pilot.press(key)
            values.append(line.value)
        assert values == ["", "?why", "look", "look", "?why", ""]
        await pilot.press("up", "up", "enter")
        assert app.said == ["look", "?why", "look"]

    play(act)


def test_the_next_line_may_be_begun_before_one_is_read() -> None:
    async def act(line: CommandLine, pilot: Pilot[None], app: Screen) -> None:
        line.focus()
        for key in ("l", "o", "o", "k", "enter", "o", "p", "e", "n"):
            app.post_message(Key(key, key if len(key) == 1 else "\r"))
        await pilot.pause()
        assert app.said == ["look"]
        assert line.value == "open"

    play(act)


def test_where_the_world_lists_nothing_what_was_sent_before_completes() -> None:
    async def act(line: CommandLine, pilot: Pilot[None], app: Screen) -> None:
        await press(pilot, Text("open the door"), "enter")
        line.offer(None)
        await press(pilot, Text("op"), "tab")
        assert line.value == "open the door"

    play(act, None)


def test_the_list_shows_a_few_and_counts_all_and_goes_with_the_focus() -> None:
    async def act(line: CommandLine, pilot: Pilot[None], app: Screen) -> None:
        shown = app.query_one(CompletionList)
        assert not shown.display
        await pilot.press("down")
        assert shown.display and shown.content_size.height == 6
        assert "8 possible" in str(shown.border_subtitle)
        assert shown.region.bottom == line.region.y
        await pilot.press(*["down"] * 8)
        assert "▸ take fork 1 from fridge 1" in str(shown.render())
        app.set_focus(None)
        await pilot.pause()
        assert not shown.display

    play(act)


def test_a_clicked_completion_stands_in_the_line() -> None:
    async def act(line: CommandLine, pilot: Pilot[None], app: Screen) -> None:
        await press(pilot, Text("take"))
        await pilot.click(CompletionList, offset=(5, 2))
        await pilot.pause()
        assert line.value == "take egg 2 from fridge 1"
        await pilot.press("enter")
        assert app.said == ["take egg 2 from fridge 1"]

    play(act)


def test_a_proposal_can_be_edited_and_is_made_printable() -> None:
    async def act(line: CommandLine, pilot: Pilot[None], app: Screen) -> None:
        line.prefill("take egg 1 from fridge 2")
        await pilot.press("backspace", "1", "enter")
        assert app.said == ["take egg 1 from fridge 1"]
        line.prefill("[b]x[/b]\x1b[31m" + "y" * 5_000)
        await pilot.pause()
        assert line.value.startswith("[b]x[/b]\\x1b[31my") and len(line.value) <= 1_010

    play(act)


def test_letters_are_the_lines_while_it_holds_the_focus() -> None:
    async def act(line: CommandLine, pilot: Pilot[None], app: Screen) -> None:
        await pilot.press("q", "t")
        assert line.value == "qt"
        assert line.has_class("-typing")

    play(act)
