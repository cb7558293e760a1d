"""The story: told in its order, folded, held still while one reads, and no more laid out than what is new."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot

from housequest.agent.episodes import events
from housequest.agent.episodes.events import Event
from housequest.tui.episode.state import ViewState, replayed
from housequest.tui.episode.story import Story
from housequest.tui.theme import register_themes
from housequest.worlds.paths import FORMAT

GOAL = "put a hot egg in countertop."
OPENING = f"You see a countertop 1, and a fridge 1.\n\nYour task is to: {GOAL}"
TEACHING = "space goes step by step"
LONG = "The fridge is likely. " * 20


class Screen(App[None]):
    """A story and nothing else; keeps what it was told."""

    CSS = "Story { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        register_themes(self)
        self.heard: list[Message] = []

    def compose(self) -> ComposeResult:
        yield Story(TEACHING)

    def on_story_picked(self, message: Story.Picked) -> None:
        self.heard.append(message)


def started(goal: str = GOAL, opening: str = OPENING) -> events.Started:
    return events.Started(
        world="alfworld", engine="native", task="t", split="example", number=1, type="heat", goal=goal, wording="template",
        agent="expert", max_turns=5_000, seed=0, opening=opening, format=FORMAT,
    )  # fmt: skip


def told(*bodies: events.Body, state: ViewState | None = None, parent: int | None = None) -> ViewState:
    """The state after ``bodies``, which follow ``parent`` or the last event."""
    state = replayed([Event(id=0, body=started())]) if state is None else state
    for body in bodies:
        assert state.last is not None
        event = Event(id=max(state.moments) + 1, parent=state.last if parent is None else parent, body=body)
        state, parent = replayed([event], state), None
    return state


def thought(text: str = "look there", role: str = "actor") -> events.Thought:
    return events.Thought(role=role, text=text)


def turn(number: int, command: str = "go to fridge 1", said: str = "The fridge 1 is closed.", **more: object) -> events.Stepped:
    return events.Stepped.model_validate(
        {"turn": number, "command": command, "observation": said, "accepted": said != "Nothing happens.", **more}
    )


def many(count: int) -> ViewState:
    return told(*(turn(number) for number in range(1, count + 1)))


def lines(story: Story) -> list[str]:
    """What is seen, without the frame."""
    return [story.render_line(y).text.rstrip() for y in range(story.content_size.height)]


def show(act: Callable[[Story, Pilot[None], Screen], Awaitable[None]], size: tuple[int, int] = (70, 20)) -> None:
    async def run() -> None:
        app = Screen()
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await act(app.query_one(Story), pilot, app)

    asyncio.run(run())


def seen(state: ViewState, size: tuple[int, int] = (70, 20)) -> list[str]:
    found: list[str] = []

    async def act(story: Story, pilot: Pilot[None], app: Screen) -> None:
        story.show(state)
        await pilot.pause()
        found.extend(lines(story))

    show(act, size)
    return found


def test_before_anything_happened_the_opening_and_what_one_can_do_are_told() -> None:
    assert [line.strip() for line in seen(told()) if line] == [*filter(None, OPENING.split("\n")), TEACHING]


def test_a_turn_is_told_in_its_order_and_the_teaching_goes() -> None:
    state = told(thought("likely there", "reasoner"), turn(1), thought("open it"))
    assert [line for line in seen(state) if line][2:] == [
        "     · reasoner  likely there",
        "  1  go to fridge 1",
        "     The fridge 1 is closed.",
        "     · actor     open it",
    ]


def test_a_person_a_refusal_and_a_spent_turn_say_what_they_are() -> None:
    state = told(
        events.Intervened(action="play", text="take egg 1"),
        turn(1, "take egg 1", "Nothing happens.", by="person", explanation="The fridge 1 is closed."),
        events.ParseFailed(role="actor", reply="?", reason="no command", final=True),
        events.TurnSpent(turn=2),
    )
    assert [line.strip() for line in seen(state, (100, 20)) if line][2:] == [
        "1  take egg 1  person",
        "Nothing happens.",
        "The fridge 1 is closed.",
        "! actor     its reply could not be read: no command (asked twice)",
        "2  no command: the turn is spent",
    ]


@pytest.mark.parametrize("size", [(30, 12), (64, 20), (140, 44)])
def test_no_line_is_wider_than_the_pane_nor_than_can_be_read(size: tuple[int, int]) -> None:
    state = told(thought(LONG), turn(1, "x" * 300, "a word " * 200), thought("日本語" * 60))

    async def act(story: Story, pilot: Pilot[None], app: Screen) -> None:
        story.show(state)
        story.fold_all()
        await pilot.pause()
        width = story.content_size.width
        assert all(story.render_line(y).cell_length == width for y in range(story.content_size.height))
        assert max(len(line) for line in lines(story)) <= min(width, 101)

    show(act, size)


def test_what_is_told_is_never_markup_nor_steers_the_terminal() -> None:
    shown = "\n".join(seen(told(thought("[b]bold[/b]\x1b[31m"), turn(1, "[red]go[/red]", "\x1b]0;title\x07 [link=x]"))))
    assert "[b]bold[/b]\\x1b[31m" in shown
    assert "[red]go[/red]" in shown
    assert "\\x1b]0;title\\x07 [link=x]" in shown
    assert "\x1b" not in shown


@pytest.mark.heavy
@given(said=st.text(max_size=200), thoughts=st.lists(st.text(max_size=200), max_size=3))
@settings(max_examples=15)
def test_any_text_can_be_told(said: str, thoughts: Sequence[str]) -> None:
    seen(told(*(thought(text) for text in thoughts), turn(1, said, said)), (40, 12))


def test_what_the_goal_names_stands_out() -> None:
    async def act(story: Story, pilot: Pilot[None], app: Screen) -> None:
        story.show(told(turn(1, said="You see a egg 1, a eggcup 1 and an apple 1.")))
        await pilot.pause()
        strip = next(strip for y in range(12) if "eggcup" in (strip := story.render_line(y)).text)
        assert [segment.text for segment in strip if segment.style and segment.style.bold] == ["egg 1"]

    show(act)


def test_a_click_opens_a_thought_and_closes_it_and_a_click_on_a_turn_picks_it() -> None:
    async def act(story: Story, pilot: Pilot[None], app: Screen) -> None:
        state = told(thought(LONG), turn(1))
        story.show(state)
        await pilot.pause()
        folded = lines(story)
        place = next(y for y, line in enumerate(folded) if "▸ actor" in line)
        assert folded[place].endswith("…")
        await pilot.click(story, offset=(20, place + 1))
        opened = lines(story)
        assert "▾ actor" in opened[place] and len([line for line in opened if "likely" in line]) > 3
        await pilot.click(story, offset=(20, place + 1))
        assert lines(story) == folded
        command = next(y for y, line in enumerate(folded) if "go to fridge 1" in line)
        await pilot.click(story, offset=(20, command + 1))
        assert [message.event_id for message in app.heard if isinstance(message, Story.Picked)] == [state.last]

    show(act)


def test_enter_opens_what_was_thought_at_the_selected_turn_and_all_can_be_opened() -> None:
    async def act(story: Story, pilot: Pilot[None], app: Screen) -> None:
        state = told(thought(LONG), turn(1), thought(LONG), turn(2))
        story.show(state)
        story.focus()
        story.select(2)
        await pilot.press("enter")
        assert sum("▾" in line for line in lines(story)) == 1
        assert any("▌" in line and "go to fridge 1" in line for line in lines(story))
        await pilot.press("space")
        story.fold_all()
        await pilot.pause()
        assert sum("▾" in line for line in lines(story)) == 2
        story.fold_all()
        await pilot.pause()
        assert sum("▸" in line for line in lines(story)) == 2

    show(act, (70, 40))


def test_an_answer_to_a_hint_is_open_until_it_is_folded() -> None:
    async def act(story: Story, pilot: Pilot[None], app: Screen) -> None:
        story.show(told(events.Thought(role="reasoner", text=LONG, answers=True), thought(LONG), turn(1)))
        story.focus()
        await pilot.pause()
        shown = " ".join(" ".join(lines(story)).split())
        assert LONG.strip() in shown and "▸ actor" in shown
        place = next(y for y, line in enumerate(lines(story)) if "« reasoner" in line)
        await pilot.click(story, offset=(20, place + 1))
        assert lines(story)[place].endswith("…")
        for opened in (True, False):
            story.fold_all()
            await pilot.pause()
            shown = " ".join(" ".join(lines(story)).split())
            assert LONG.strip() in shown and ("▾ actor" in shown) == opened

    show(act, (70, 60))


def test_it_follows_until_one_scrolls_up_and_again_after_end() -> None:
    async def act(story: Story, pilot: Pilot[None], app: Screen) -> None:
        state = many(30)
        story.show(state)
        story.focus()
        await pilot.pause()
        assert "30  go to fridge 1" in "\n".join(lines(story))
        await pilot.press("pageup")
        held = lines(story)
        assert not story.following
        state = told(turn(31), turn(32), state=state)
        story.show(state)
        await pilot.pause()
        assert lines(story) == held
        assert "2 new below" in str(story.border_subtitle)
        await pilot.press("end")
        assert story.following and "32  go to fridge 1" in "\n".join(lines(story))
        assert not story.border_subtitle
        story.show(told(turn(33), state=state))
        await pilot.pause()
        assert "33  go to fridge 1" in "\n".join(lines(story))

    show(act)


def test_another_width_keeps_the_turn_that_is_read() -> None:
    async def act(story: Story, pilot: Pilot[None], app: Screen) -> None:
        story.show(told(*(turn(number, f"look {number}", "a word " * 40) for number in range(1, 31))))
        await pilot.pause()
        story.scroll_to(y=story.max_scroll_y // 2, immediate=True)
        await pilot.pause()
        top = next(line for line in lines(story) if "look" in line).split()[-1]
        await pilot.resize_terminal(40, 20)
        await pilot.pause()
        shown = [int(line.split()[-1]) for line in lines(story) if "look" in line]
        assert not shown or abs(shown[0] - int(top)) <= 1
        assert not story.following

    show(act)


def test_a_rewind_tells_the_new_branch_after_what_both_share() -> None:
    async def act(story: Story, pilot: Pilot[None], app: Screen) -> None:
        state = told(turn(1, "look one"), turn(2, "look two"), turn(3, "look three"))
        story.show(state)
        await pilot.pause()
        before = lines(story)
        state = told(events.Intervened(action="rewind"), turn(2, "look else"), state=state, parent=1)
        story.show(state)
        await pilot.pause()
        shown = "\n".join(lines(story))
        assert "look one" in shown and "look else" in shown
        assert "look two" not in shown and "look three" not in shown
        story.show(state.at(3))
        await pilot.pause()
        assert lines(story) == before

    show(act)


@pytest.mark.heavy
@given(moves=st.lists(st.integers(0, 24), min_size=1, max_size=12))
@settings(max_examples=10)
def test_any_way_of_looking_back_and_forth_shows_what_looking_there_at_once_shows(moves: Sequence[int]) -> None:
    state = told(*(body for number in range(1, 13) for body in (thought(f"at {number}"), turn(number, f"look {number}"))))

    at_once = seen(state.at(moves[-1]))

    async def act(story: Story, pilot: Pilot[None], app: Screen) -> None:
        for event in moves:
            story.show(state.at(event))
        await pilot.pause()
        assert lines(story) == at_once

    show(act)


def test_a_selected_turn_is_brought_into_sight_and_let_go_of() -> None:
    async def act(story: Story, pilot: Pilot[None], app: Screen) -> None:
        state = many(60)
        story.show(state)
        await pilot.pause()
        story.select(10)
        await pilot.pause()
        assert any(line.startswith("▌") and "10  go to" in line for line in lines(story))
        story.select(0)
        await pilot.pause()
        assert any(line.startswith("▌") and "You see" in line for line in lines(story))
        story.select(None)
        await pilot.pause()
        assert story.following and not any("▌" in line for line in lines(story))

    show(act)


def test_thousands_of_turns_are_told_to_both_ends() -> None:
    async def act(story: Story, pilot: Pilot[None], app: Screen) -> None:
        state = many(1_000)
        story.show(state)
        story.show(told(turn(1_001), state=state))
        story.focus()
        await pilot.pause()
        assert any(line.split() == ["1001", "go", "to", "fridge", "1"] for line in lines(story))
        await pilot.press("home")
        assert "You see a countertop 1" in lines(story)[0]

    show(act)
