"""Teaching by keyboard: what happens in a game or a replay becomes a candidate, whose witness leads back to that step."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.knowledge.checks import parse_check
from housequest.knowledge.rulebook import library, read_book
from housequest.tui.desk.rule_dialog import RuleDialog, check_like
from housequest.tui.desk.witnesses import FoundWitness, find_witnesses
from housequest.tui.episode.state import TurnEntry
from housequest.tui.play.screen import PlayScreen
from housequest.tui.replay.screen import ReplayScreen
from housequest.tui.runs.data import recorded_play
from housequest.worlds.base import Observation, Transition
from tests.tui.recorded import rewound, write
from tests.tui.screen import game, press, running_text, screen_text, showing, type_in, until, waiting, write_in

pytestmark = [pytest.mark.anyio, pytest.mark.heavy]


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_game_teaches(size: tuple[int, int]) -> None:
    app = showing(lambda: PlayScreen(game(), "step"))
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        await press(pilot, "k")
        await until(pilot, lambda: "No command was played yet" in screen_text(app))
        await press(pilot, "enter")
        await until(pilot, lambda: waiting(app) == "verdict" and "turn 1/" in screen_text(app))
        await press(pilot, "k")
        await until(pilot, lambda: isinstance(app.screen, RuleDialog))
        assert "go to {receptacle}; then accepted" in screen_text(app)
        await press(pilot, "enter")
        assert isinstance(app.screen, RuleDialog)
        await type_in(pilot, "Tables are seen at once.")
        await until(pilot, lambda: isinstance(app.screen, PlayScreen))
        (rule,) = read_book(library().find("mine")).rules
        assert (rule.status, rule.statement, rule.objects) == ("candidate", "Tables are seen at once.", ("diningtable",))
        (witness,) = find_witnesses(rule.evidence.witnesses, recorded_play(Path("runs")))
        assert isinstance(witness, FoundWitness)
        assert witness.command == "go to diningtable 1"
        assert not rule.evidence  # a person named it; nothing was counted


async def test_a_replay_teaches_into_a_book_that_is_chosen(tmp_path: Path) -> None:
    record = write(tmp_path / "runs" / "run" / "episodes" / "e.jsonl", rewound())
    (tmp_path / "runs" / "run" / "run.json").write_text("{}")
    library().own.mkdir(parents=True)
    (library().own / "bad.yaml").write_text("- [")
    app = showing(lambda: ReplayScreen(record, at=4))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "turn 2" in screen_text(app))
        await press(pilot, "k")
        await until(pilot, lambda: isinstance(app.screen, RuleDialog))
        assert "witness run/e/4" in screen_text(app)
        await write_in(pilot, "You cannot fly")
        await press(pilot, *["tab"] * 5)
        await write_in(pilot, "fly")
        await press(pilot, "tab", "ctrl+u")
        await type_in(pilot, "bad")
        await until(pilot, lambda: "a check is COMMAND" in screen_text(app))
        await pilot.press("semicolon", "space", *"then", "space", *"refused")
        await press(pilot, "enter")
        # A long path wraps anywhere.
        await until(pilot, lambda: "bad.yaml:1" in running_text(app).replace(" ", ""))
        await press(pilot, "ctrl+u")
        await type_in(pilot, "air.yaml")
        await until(pilot, lambda: isinstance(app.screen, ReplayScreen))
        (rule,) = read_book(tmp_path / "air.yaml").rules
        assert (rule.id, str(rule.check), rule.evidence.witnesses) == ("you-cannot-fly", "fly; then refused", ("run/e/4",))
        await press(pilot, "home", "k")
        await until(pilot, lambda: "No command was played yet" in screen_text(app))


@pytest.mark.parametrize(
    ("command", "check"),
    [
        ("take egg 1 from fridge 1", "take {object} from {receptacle}; then accepted"),
        ("examine egg 1 egg 2", "examine {object} {other_object}; then accepted"),
        ("look", "look; then accepted"),
    ],
)
def test_a_lesson_offers_a_check_that_can_be_read(command: str, check: str) -> None:
    assert check_like(TurnEntry(1, 1, transition=Transition(command, Observation(""))), {"fridge 1"}) == check
    parse_check(check)
