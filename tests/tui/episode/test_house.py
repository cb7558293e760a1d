"""The House on the screen: marks besides colours, nothing lost in a narrow pane, all of it with the focus."""

from __future__ import annotations

import re

import pytest
from textual.content import Content
from textual.strip import Strip

from housequest.tui.episode.house import HousePane, HouseView, house_view, laid_out
from housequest.tui.theme import LIGHT
from tests.tui.episode.pane import Alone, after, started, step, text

pytestmark = pytest.mark.anyio

ARRIVE = step(
    1, "go to countertop 1", "You arrive at countertop 1. On the countertop 1, you see a egg 2, a cup 1, and a egg 1."
)
TAKE = step(2, "take egg 1 from countertop 1", "You pick up the egg 1 from the countertop 1.")
FRIDGE = step(3, "go to fridge 1", "You arrive at fridge 1. The fridge 1 is closed.")


def large() -> HouseView:
    """A house of 65 receptacles and 60 objects, most of them on one countertop."""
    names = [f"{kind} {n}" for kind, most in (("cabinet", 30), ("drawer", 30), ("countertop", 5)) for n in range(1, most + 1)]
    opening = f"Looking quickly around you, you see {', '.join(f'a {name}' for name in names)}."
    things = ", ".join(f"a {kind} {n}" for kind in ("egg", "knife", "cup", "soapbottle") for n in range(1, 16))
    seen = step(1, "go to countertop 2", f"You arrive at countertop 2. On the countertop 2, you see {things}.")
    gone = step(2, "go to drawer 7", "You arrive at drawer 7. The drawer 7 is closed.")
    house = house_view(after(started(opening=opening), seen, gone).moment)
    assert house is not None
    return house


def plain(lines: list[Content]) -> str:
    return "\n".join(line.plain for line in lines)


async def test_a_game_in_a_narrow_pane() -> None:
    pane = HousePane()
    async with Alone(pane).run_test(size=(34, 16)) as pilot:
        pane.show(after(started(), ARRIVE, TAKE))
        await pilot.pause()
        assert text(pane) == "\n".join(
            (
                "+ holding *egg 1",
                "▸ *countertop 1",
                "    *egg 2  cup 1",
                "",
                "  not visited",
                "    cabinet 1-3  drawer 1",
                "    fridge 1",
            )
        )
        pane.show(after(started(), ARRIVE, TAKE, FRIDGE))
        await pilot.pause()
        assert text(pane).startswith("  holding *egg 1\n▸ fridge 1  +closed\n\n  *countertop 1\n    *egg 2  cup 1\n")


async def test_it_teaches_where_there_is_nothing_to_show() -> None:
    pane = HousePane()
    async with Alone(pane).run_test(size=(40, 8)) as pilot:
        await pilot.pause()
        assert text(pane) == "What is seen of the house is put\ntogether here."
        pane.show(after(started(world="scripted")))
        await pilot.pause()
        assert text(pane) == "No house is shown: the texts of the\nworld scripted are not read. The\nstory has all of it."


async def test_a_state_shown_before_there_is_room_is_there_when_there_is() -> None:
    pane = HousePane()
    pane.show(after(started()))
    async with Alone(pane).run_test(size=(40, 8)) as pilot:
        await pilot.pause()
        assert "middle of the room" in text(pane)
        pane.display = False
        await pilot.pause()
        pane.show(after(started(), ARRIVE))
        await pilot.pause()
        pane.display = True
        await pilot.pause()
        assert "+   *egg 1  *egg 2  cup 1" in text(pane)


@pytest.mark.parametrize("width", [24, 30, 40, 64, 80])
@pytest.mark.parametrize("height", [3, 12, 60])
@pytest.mark.parametrize("whole", [False, True])
def test_no_line_is_longer_than_the_pane(width: int, height: int, whole: bool) -> None:
    lines = laid_out(large(), width, height, whole)
    assert max(line.cell_length for line in lines) <= width
    if whole:
        shown = plain(lines)
        assert "more" not in shown
        assert all(f" {kind} {n}" in shown.replace("*", " ") for kind in ("knife", "soapbottle") for n in range(1, 16))


def test_what_does_not_fit_is_counted() -> None:
    shown = plain(laid_out(large(), 60, 10))
    counted = re.search(r"\+(\d+) more", shown)
    assert counted is not None
    assert len(re.findall(r"(?:egg|knife|cup|soapbottle) \d+", shown)) + int(counted[1]) == 60


@pytest.mark.parametrize("height", [3, 6, 20])
def test_what_the_goal_names_is_shown_before_the_rest(height: int) -> None:
    gone = step(2, "go to drawer 1", "You arrive at drawer 1. The drawer 1 is closed.")
    things = ", ".join(f"a soapbottle {n}" for n in range(1, 30))
    seen = step(1, "go to fridge 1", f"You arrive at fridge 1. The fridge 1 is open. In it, you see {things}, and a egg 1.")
    house = house_view(after(started(), seen, gone).moment)
    assert house is not None
    shown = plain(laid_out(house, 24, height))
    assert "*egg 1" in shown
    assert "more" in shown


def test_a_wide_pane_has_two_columns_where_one_is_not_enough() -> None:
    lines = laid_out(large(), 80, 14)
    assert len(lines) <= 14
    assert any("not visited" in line.plain[40:] for line in lines)
    assert not any("not visited" in line.plain[40:] for line in laid_out(large(), 80, 60))


async def test_keys_scroll_all_of_it() -> None:
    pane = HousePane()
    names = ", ".join(f"a {kind} 1" for kind in (f"thing{chr(97 + n)}" for n in range(26)))
    async with Alone(pane).run_test(size=(24, 10)) as pilot:
        pane.show(after(started(opening=f"Looking quickly around you, you see {names}.")))
        pane.focus()
        await pilot.pause()
        assert str(pane.border_subtitle) == "↓ 22"
        await pilot.press("down", "down", "pagedown")
        assert str(pane.border_subtitle).startswith("↑ 10")
        await pilot.press("end")
        assert "thingz 1" in text(pane)
        assert str(pane.border_subtitle) == "↑ 22"
        await pilot.press("home")
        assert "holding" in text(pane)


async def test_colours_follow_the_theme() -> None:
    pane = HousePane()
    app = Alone(pane)
    async with app.run_test(size=(34, 16)) as pilot:
        pane.show(after(started(), ARRIVE))
        await pilot.pause()
        dark = [segment.style for segment in pane.render_line(2)]
        app.theme = LIGHT
        await pilot.pause()
        assert [segment.style for segment in pane.render_line(2)] != dark


class Drawn(HousePane):
    """A House that remembers which of its lines were drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: set[int] = set()

    def render_line(self, y: int) -> Strip:
        self.drawn.add(y)
        return super().render_line(y)


async def test_only_lines_that_changed_are_drawn_again() -> None:
    pane = Drawn()
    async with Alone(pane).run_test(size=(34, 16)) as pilot:
        pane.show(after(started(), ARRIVE, TAKE))
        await pilot.pause()
        pane.drawn.clear()
        pane.show(after(started(), ARRIVE, TAKE))
        await pilot.pause()
        assert not pane.drawn
        pane.show(after(started(), ARRIVE, TAKE, step(3, "inventory", "You are carrying: a egg 1.")))
        await pilot.pause()
        assert pane.drawn == {0}
