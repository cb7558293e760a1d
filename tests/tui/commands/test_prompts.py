"""``housequest prompts``: what is shown is what a game sends, and what is written is what ships."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from housequest.agent.agents.spec import agent_spec
from housequest.agent.config import configure
from housequest.agent.episodes.events import ModelCall
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.roles.base import load_prompt
from housequest.agent.roles.own import templates
from housequest.tui.cli import app
from housequest.worlds.errors import HousequestError
from housequest.worlds.registry import make_world
from tests.agent.playing import CHATTING, SCORING, play
from tests.backends.policy import Solver
from tests.backends.server import serve
from tests.parts import needs

WORDS = "Once upon a time there was a house."


def prompts(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["prompts", *arguments])
    if isinstance(result.exception, HousequestError):
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.heavy
@pytest.mark.parametrize("agent", [*CHATTING, *(pytest.param(name, marks=needs("training")) for name in SCORING)])
def test_what_is_shown_is_what_a_game_sends(agent: str, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name, place in templates([agent_spec(agent).roles.prompts or ""]).items():
        sections = load_prompt(*place).sections
        text = "".join(f"=== {each} ===\n{WORDS * (each == 'system')}\n{body}\n" for each, body in sections.items())
        (own / f"{name}.txt").write_text(text, "utf-8")
    with serve(Solver()) as server:
        world = make_world("alfworld")
        record, settings = tmp_path / "episode.jsonl", {"prompts": str(own)}
        played = play(server, world, world.task("example:1"), agent, record, settings=settings, max_turns=1)
    role = next(event.body.role for event in played.events if isinstance(event.body, ModelCall))
    sent = "".join(f"=== {role}: {one['role']} ===\n{one['content']}\n" for one in played.requests[0].messages)
    assert WORDS in sent
    assert prompts("show", agent, "example:1", "--set", f"prompts={own}").startswith(sent)


@needs("opex", "training")
def test_every_role_is_shown() -> None:
    told = [line for line in prompts("show", "opex", "example:2").splitlines() if line.endswith(": system ===")]
    assert told == [f"=== {role}: system ===" for role in ("planner", "executor", "observer", "searcher")]


def test_where_no_expert_replies_the_first_role_is_shown() -> None:
    assert "take the coin out of the box" in prompts("show", "react", "--world", "scripted")


@pytest.mark.parametrize("call", [("show", "expert"), ("write", "expert", "folder")])
def test_who_asks_no_model_has_no_prompts(call: tuple[str, ...]) -> None:
    with pytest.raises(HousequestError, match="asks no language model"):
        prompts(*call)


@pytest.mark.heavy
@pytest.mark.parametrize("agent", CHATTING)
def test_a_copy_of_what_ships_is_what_ships(agent: str, tmp_path: Path) -> None:
    def manifest(**settings: str) -> object:
        given = {"agent": agent, "model": "openai:NAME", "split": "example", "limit": 1, "set": settings}
        return make_run_spec(configure(given)).manifest

    place = tmp_path / "copy"
    assert set(prompts("write", agent, str(place)).splitlines()) >= {str(place / "additions.txt"), str(place / "again.txt")}
    assert {file.stem for file in place.iterdir()} == set(templates(agent_spec(agent).templates))
    assert manifest(prompts=str(place)) == manifest()
    with pytest.raises(HousequestError, match="is there already"):
        prompts("write", agent, str(place))
