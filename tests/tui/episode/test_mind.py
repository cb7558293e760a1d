"""The Mind on the screen: plan, rules, and what thinking came to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from housequest.agent.config import Prices
from housequest.agent.episodes import events
from housequest.agent.episodes.events import CallTiming, Event
from housequest.agent.evaluation.runs.usage import Tokens
from housequest.tui.episode.stage import MindPane
from housequest.tui.episode.state import CallTotals, ViewState, apply
from housequest.worlds.household.weighing import Odds, Weighed
from tests.tui.episode.pane import Alone, after, started, step, text

pytestmark = pytest.mark.anyio


STARTED = started(agent="reasoner-actor", model="openai:small")
STEPS = ("find an egg", "take it", "heat it in the microwave", "put it on a countertop")
PLANNED = events.Planned(role="reasoner", steps=STEPS, revision=1, reason="stuck")
RULES = ("eggs are on countertops", "open a receptacle before you look for anything inside of it")


def called(state: ViewState) -> ViewState:
    body = events.ModelCall(role="actor", kept=0, added=(), reply="", finish="stop", prompt_tokens=4_120, completion_tokens=380)
    assert state.last is not None
    state = apply(state, Event(id=state.last + 1, parent=state.last, body=body))
    assert state.last is not None
    return apply(state, CallTiming(of=state.last, seconds=1.84, cached=3_955))


async def read(state: ViewState, size: tuple[int, int], prices: Prices | None = None, focus: bool = False) -> str:
    pane = MindPane(prices)
    async with Alone(pane).run_test(size=size) as pilot:
        if not focus:
            pane.screen.set_focus(None)
        pane.show(state)
        await pilot.pause()
        return text(pane)


async def test_plan_rules_and_effort() -> None:
    state = called(after(STARTED, events.RulesShown(rules=RULES), PLANNED, events.Progressed(role="actor", step=1)))
    assert await read(state, (34, 22), Prices(input=1, cached=0.1, output=4)) == "\n".join(
        (
            "Plan                revised 1×",
            "✓ find an egg",
            "▸ take it",
            "· heat it in the microwave",
            "· put it on a countertop",
            "",
            "Rules",
            "· eggs are on countertops",
            "· open a receptacle before you",
            "  look for anything inside of",
            "  it",
            "",
            "1 call · 1.8 s",
            "4.1k tokens in · 96% cached",
            "380 tokens out",
            "cost 0.00208",
        )
    )


async def test_it_says_where_prompts_go() -> None:
    pane = MindPane()
    pane.destinations = ("Prompts go to https://models.example.org with the key in EXAMPLE_KEY.",)
    async with Alone(pane).run_test(size=(34, 18)) as pilot:
        pane.show(called(after(STARTED, PLANNED)))
        await pilot.pause()
        assert text(pane).endswith("Prompts go to\nhttps://models.example.org\nwith the key in EXAMPLE_KEY.")


async def test_rules_give_way_to_the_figures_until_they_are_asked_for() -> None:
    state = called(after(STARTED, events.RulesShown(rules=RULES * 5), PLANNED))
    shown = await read(state, (34, 17))
    assert "+7 more" in shown
    assert "380 tokens out" in shown
    assert "more" not in await read(state, (34, 17), focus=True)


async def test_it_says_why_there_is_nothing() -> None:
    assert "stand here" in await read(ViewState(), (40, 10))
    shown = await read(after(started()), (60, 10))
    assert shown == "Plan\nexpert goes from turn to turn, without a plan\n\nexpert: no model is called"
    alone = await read(after(started(agent="human")), (60, 12))
    assert alone == "Plan\nyours alone: no agent plays"
    shown = await read(after(STARTED), (40, 10))
    assert shown == "Plan\nno plan so far\n\nno call so far"


async def test_what_is_not_known_is_not_told() -> None:
    state = replace(after(STARTED), totals=CallTotals(calls=2, seconds=700))
    assert "2 calls · 12 min\ntokens not counted" in await read(state, (40, 12), Prices(input=1, output=1))
    state = replace(state, totals=CallTotals(calls=2, tokens=Tokens(100, 5)))
    shown = await read(state, (40, 12))
    assert "cached" not in shown
    assert "cost" not in shown
    assert "picture" not in shown
    seen = replace(state, totals=replace(state.totals, images=1))
    assert "\n1 picture shown\n" in await read(seen, (40, 12))
    other = replace(called(state), models=("openai:small", "openai:large"))
    assert "cost unknown: several models" in await read(other, (40, 12), Prices(input=1, output=1))


ODDS = Weighed(("egg",), (Odds("fridge 1", 0.5), Odds("cabinet 1", 0.1, alike=3)), chosen=1, rest=0.2)
WEIGHED = events.Thought(role="expert", text="the fridge would be likelier", weighed=ODDS)


async def test_odds_are_bars_for_the_turn_in_which_they_were_weighed() -> None:
    bars = ("Odds: egg", "· fridge 1   █████ 50 %", "▸ cabinet ×3 ███   30 %", "· elsewhere  ██    20 %")
    shown = await read(after(started(), WEIGHED), (27, 14))
    assert "\n".join(bars) in shown
    done = after(started(), WEIGHED, step(1, "go to cabinet 1", "The cabinet 1 is closed."))
    assert "Odds: egg" in await read(done, (27, 14))
    later = (step(1, "go to cabinet 1", "The cabinet 1 is closed."), step(2, "look", "Nothing happens."))
    assert "Odds" not in await read(after(started(), WEIGHED, *later), (27, 14))


@pytest.mark.parametrize("width", [12, 24, 60, 120])
async def test_bars_fit_any_width(width: int) -> None:
    shown = await read(after(started(), WEIGHED), (width, 14))
    assert all(len(line) <= width for line in shown.splitlines())
    assert "50 %" in shown or width < 24


@pytest.mark.parametrize("height", [8, 30])
async def test_the_rule_that_decided_the_turn_stands_first_and_is_marked(height: int) -> None:
    shown = events.RulesShown(rules=(*RULES, "a hint"), ids=("eggs", "open", ""))
    state = after(STARTED, shown, events.Thought(role="actor", text="open it", rule="open"))
    first = (await read(state, (60, height))).partition("Rules")[2]
    assert first.strip().startswith(f"§ {RULES[1][:50]}")
    assert "§" not in await read(after(STARTED, shown, events.Thought(role="actor", text="look")), (60, height))


@pytest.mark.parametrize("width", [24, 40, 80])
async def test_wild_texts_stay_texts(width: int) -> None:
    wild = "\x1b[31m[bold]\u202e$goal[/]\n" + "鸡蛋" * 40 + "x" * 5_000
    planned = events.Planned(role="reasoner", steps=(wild, "", "  "), revision=7, reason=wild)
    state = called(after(STARTED, events.RulesShown(rules=(wild,)), planned, events.Progressed(role="actor", step=99)))
    shown = await read(state, (width, 30), focus=True)
    assert "\\x1b[31m[bold]" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
