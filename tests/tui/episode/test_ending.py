"""The last card of a game: what it came to, what it could have come to, and what was missed."""

from __future__ import annotations

import pytest
from textual.content import Content

from housequest.agent.episodes import events
from housequest.agent.evaluation.analysis.failures import Failure, FailureKind
from housequest.agent.evaluation.analysis.metrics import PathLengths
from housequest.tui.episode.ending import Bar, Ending, RaceEnding, RaceResult, bars, faster, race_verdict
from housequest.tui.episode.state import ViewState
from tests.tui.episode.pane import Alone, after, started, step, text

pytestmark = pytest.mark.anyio

LOOK = step(1, "look", "You look.")
COLD = Failure(FailureKind.FORGOT_HEAT, 12, "Egg 1 was found in turn 5 and put in countertop 1 in turn 12, never heated.")


def ended(outcome: events.Outcome, turns: int = 9, **more: object) -> events.Ended:
    fields = {"reason": "the task is done", "steps": turns, "refused": 0, **more}
    return events.Ended.model_validate({"outcome": outcome, "turns": turns, **fields})


async def read(
    state: ViewState, par: PathLengths | None = None, failure: Failure | None = None, *, size: tuple[int, int] = (80, 10)
) -> str:
    card = Ending()
    async with Alone(card).run_test(size=size) as pilot:
        card.show(state, par, failure)
        await pilot.pause()
        assert not card.display or card.size.height + 2 == card.outer_size.height == 7
        return text(card) if card.display else ""


async def test_nothing_is_seen_while_a_game_goes_on() -> None:
    assert await read(after(started(), LOOK)) == ""


async def test_a_won_game_stands_beside_what_could_be_done() -> None:
    lines = (await read(after(started(), LOOK, ended("won")), PathLengths(7, 6))).splitlines()
    assert lines[0].strip() == "In 9 turns."
    assert [line.split()[-1] for line in lines[1:4]] == ["9", "7", "6"]
    assert [line.count("━") for line in lines[1:4]] == [27, 21, 18]
    assert [line.partition("━")[0].strip() for line in lines[1:4]] == ["expert", "the expert", "the shortest"]


@pytest.mark.parametrize(("players", "named"), [(("person",), "you"), (("agent", "person"), "expert and you")])
async def test_who_played_is_named(players: tuple[events.Player, ...], named: str) -> None:
    story = [LOOK.model_copy(update={"turn": turn, "by": player}) for turn, player in enumerate(players, 1)]
    lines = (await read(after(started(), *story, ended("won")), PathLengths(7, 6))).splitlines()
    assert lines[1].partition("━")[0].strip() == named


@pytest.mark.parametrize(
    ("turns", "words"), [(6, "Nobody could have been quicker."), (7, ""), (8, ""), (5, "Nobody could have been quicker.")]
)
async def test_who_is_as_quick_as_can_be_is_told_so(turns: int, words: str) -> None:
    first = (await read(after(started(agent="human"), ended("won", turns)), PathLengths(7, 6))).splitlines()[0]
    assert first.strip() == f"In {turns} turns. {words}".strip()


async def test_who_beats_the_expert_is_told_so() -> None:
    assert "That beats the expert." in await read(after(started(), ended("won", 7)), PathLengths(8, 6))


async def test_what_arrives_later_fills_its_place() -> None:
    card, state = Ending(), after(started(agent="react"), ended("won"))
    async with Alone(card).run_test(size=(80, 10)) as pilot:
        card.show(state)
        await pilot.pause()
        before = text(card).splitlines()
        assert [line.strip() for line in before[2:4]] == ["the expert    …", "the shortest  …"]
        card.show(state, PathLengths(None, 6))
        await pilot.pause()
        now = text(card).splitlines()
        assert before[:2] == now[:2]
        assert now[2].strip() == "the expert    does not win this one"
        assert now[3].endswith("6")


async def test_the_expert_is_not_compared_with_itself() -> None:
    for par in (None, PathLengths(9, 6)):
        shown = await read(after(started(), ended("won", 9)), par)
        assert "the expert" not in shown and "the shortest" in shown


async def test_a_game_lost_at_its_last_turn_names_that_once() -> None:
    late = Failure(FailureKind.FORGOT_HEAT, 50, "Egg 1 was never heated.")
    shown = await read(after(started(), ended("lost", 50)), PathLengths(7, 6), late)
    assert shown.splitlines()[0].strip() == "After 50 turns: forgot to heat it."


async def test_where_nothing_could_be_measured_the_expert_is_not_blamed() -> None:
    shown = await read(after(started(agent="react"), ended("won")), PathLengths())
    assert shown.count("not known") == 2
    assert "does not win" not in shown


async def test_a_lost_game_says_what_was_missed_and_when() -> None:
    stepped = LOOK.model_copy(update={"met": 1, "conditions": 3})
    shown = await read(after(started(), stepped, ended("lost", 50, refused=2, assisted=True)), PathLengths(7, 6), COLD)
    lines = [line.strip() for line in shown.splitlines()]
    assert lines[0] == "After 50 turns: forgot to heat it, turn 12."
    assert " ".join(lines[1:3]) == COLD.words
    assert lines[3] == "The expert takes 7 turns, the shortest way 6."
    assert lines[4] == "1 of 3 conditions met · 2 commands refused · assisted by a person"


@pytest.mark.parametrize(
    ("par", "words"),
    [
        (None, "It can be done in …"),
        (PathLengths(), "In how many turns it can be done is not known."),
        (PathLengths(None, 1), "It can be done in 1 turn; the expert does not manage it."),
        (PathLengths(7), "The expert takes 7 turns."),
    ],
)
async def test_what_is_not_known_is_said_so(par: PathLengths | None, words: str) -> None:
    assert words in await read(after(started(), ended("lost")), par, COLD)


@pytest.mark.parametrize(("outcome", "word"), [("stopped", "After 9 turns."), ("error", "After 9 turns.")])
async def test_what_was_broken_off_says_so(outcome: events.Outcome, word: str) -> None:
    assert word in await read(after(started(), ended(outcome, message="the [bold]line\x1b[2J is down" if word else "")))


async def test_hostile_words_stay_on_the_card() -> None:
    evil = Failure(FailureKind.GAVE_UP, 3, "\x1b[2J[bold]鸡蛋[/bold]\n" * 80)
    for size in ((80, 10), (20, 10), (8, 10)):
        shown = await read(after(started(agent="[red]x\x07"), ended("lost")), PathLengths(7, 6), evil, size=size)
        assert "\x1b" not in shown
        assert len(shown.splitlines()) <= 5
    assert "[bold]" in await read(after(started(), ended("lost")), PathLengths(7, 6), evil)


def test_bars_share_a_scale_and_keep_to_their_width() -> None:
    rows = (Bar("you", 50, note="lost"), Bar("the expert", 7), Bar("the shortest", None, note="not known"), Bar("鸡" * 90, 0))
    for width in (4, 12, 20, 40, 200):
        lines = bars(rows, width)
        assert len(lines) == 4
        assert all(line.cell_length <= width for line in lines)
    first, second, *_ = (line.plain.count("━") for line in bars(rows[:3], 70))
    assert first / second == pytest.approx(50 / 7, rel=0.2)  # pyright: ignore[reportUnknownMemberType]
    assert bars((), 20) == []
    assert isinstance(bars((Bar("none", 0),), 3)[0], Content)


def runner(name: str, outcome: events.Outcome, turns: int) -> RaceResult:
    return RaceResult(name, ended(outcome, turns), None if outcome == "won" else COLD)


@pytest.mark.parametrize(
    ("yours", "theirs", "first", "words"),
    [
        (("won", 8), ("won", 10), "you", "You won in 8 turns, 2 fewer than react."),
        (("won", 8), ("won", 5), "react", "React won in 5 turns, 3 fewer than you."),
        (("won", 8), ("won", 8), None, "Both of you won in 8 turns."),
        (("won", 50), ("lost", 3), "you", "You won in 50 turns; react did not."),
        (("error", 2), ("won", 1), "react", "React won in 1 turn; you did not."),
        (("lost", 2), ("stopped", 9), None, "Neither of you won this one."),
    ],
)
async def test_a_race_is_compared(
    yours: tuple[events.Outcome, int], theirs: tuple[events.Outcome, int], first: str | None, words: str
) -> None:
    you, rival = runner("you", *yours), runner("react", *theirs)
    quickest = faster(you, rival)
    assert (quickest.name if quickest else None) == first
    assert race_verdict(you, rival) == words
    card = RaceEnding()
    async with Alone(card).run_test(size=(80, 16)) as pilot:
        assert not card.display
        card.show(you, rival, None)
        await pilot.pause()
        before = text(card).splitlines()
        card.show(you, rival, PathLengths(7, 6))
        await pilot.pause()
        now = text(card).splitlines()
        assert before[0].strip() == words
        assert before[:3] == now[:3]
        assert before[5:] == now[5:]
        assert sum(COLD.words[:30] in line for line in now) == (yours[0] != "won") + (theirs[0] != "won")
