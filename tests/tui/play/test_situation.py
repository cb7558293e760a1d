"""Whatever is waited for, each key holds or says why not, and the prompt says what comes next."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast, get_args

import pytest

from housequest.agent.episodes.events import Event, ModelFailed, Proposed, Started, Stepped
from housequest.agent.models.base import ReplyProgress
from housequest.tui.episode.state import ViewState, replayed
from housequest.tui.play.screen import GameView, PlayScreen
from housequest.tui.play.session import PlayMode, SessionStatus, Waiting
from housequest.worlds.paths import FORMAT
from tests.tui.screen import COIN, game

AGENTS = ("react", "expert", "human")


def played() -> ViewState:
    """Two turns, a failure and a proposal."""
    started = Started(
        format=FORMAT,
        world="scripted",
        engine="1",
        task="demo/x",
        split="demo",
        number=1,
        type="x",
        goal="take the coin",
        wording="template",
        agent="react",
        max_turns=50,
        seed=0,
        opening="You are here.",
    )
    bodies = (
        started,
        Stepped(turn=1, command="look", observation="A room.", accepted=True),
        Stepped(turn=2, command="fly", observation="Nothing happens.", accepted=False),
        ModelFailed(turn=3, boundary="model", message="gone"),
        Proposed(turn=3, command="look"),
    )
    return replayed(Event(id=n, parent=n - 1 if n else None, body=body) for n, body in enumerate(bodies))


def view(agent: str, status: SessionStatus, state: ViewState, cursor: int | None = None, **said: str) -> GameView:
    """The game of ``agent`` in this state; ``said`` is what is heard of its model."""
    partners = "Bob" if status.mode == "together" else ""
    session = SimpleNamespace(
        game=game(COIN, agent),
        status=status,
        glimpses={},
        own=True,
        reply=ReplyProgress(**said),
        partners=partners,
        human=agent == "human",
    )
    found = GameView(cast("Any", session))
    found.state, found.cursor = state, cursor
    return found


def names() -> list[str]:
    return [key.action.partition("(")[0] for key in PlayScreen.KEYS]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("waiting", get_args(Waiting))
@pytest.mark.parametrize("seat", get_args(PlayMode))
@pytest.mark.parametrize("state", [ViewState(), played()], ids=["nothing", "played"])
def test_each_key_holds_or_says_why_not(agent: str, waiting: Waiting, seat: PlayMode, state: ViewState) -> None:
    status = SessionStatus(seat, waiting, failure="it is gone" if waiting == "failed" else None)
    cursors = (None, 0, 1) if state.moments else (None,)
    for cursor in cursors:
        here = view(agent, status, state, cursor)
        cue = here.prompt()
        held = [key.action.partition("(")[0] for key in cue.keys]
        assert cue.text or not state.moments
        # What the prompt offers holds.
        assert [name for name in held if here.refusal(name) is not None] == []
        for name in names():
            refusal = here.refusal(name)
            assert refusal is None or (refusal.endswith(".") and len(refusal) <= 78)


def test_what_a_model_says_is_shown_by_its_end_while_it_says_it() -> None:
    status = SessionStatus("watch", "deciding")
    text = view("react", status, played(), heard=f"Thought: I look\nfor {60 * 'x'}").prompt().text
    assert text.startswith("react: …")
    assert text.endswith("x" * 56)
    assert view("react", status, played(), heard="Thought:\nI see").prompt().text == "react: Thought: I see"
    told = view("react", status, played(), heard="Thought:", trouble="is gone").prompt().text
    assert told == "react tries again; the model is gone"


def test_what_is_typed_while_the_world_is_opened_does_nothing() -> None:
    here = view("react", SessionStatus("watch", "opening"), ViewState())
    free = {name for name in names() if here.refusal(name) is None}
    assert free == {"leave", "pane", "next_pane", "large", "widen", "end_guide", "view", "fold", "app.command_palette"}
