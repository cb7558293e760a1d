"""A small app round one widget, and what a person would read on it."""

from __future__ import annotations

from typing import Any

from textual.app import App, ComposeResult
from textual.widget import Widget

from housequest.agent.episodes import events
from housequest.agent.episodes.events import Event, with_beliefs
from housequest.tui.episode.state import ViewState, replayed
from housequest.tui.theme import register_themes
from housequest.worlds.paths import FORMAT

OPENING = (
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 3, a cabinet 2, a cabinet 1, a drawer 1, "
    "a fridge 1, and a countertop 1.\n\nYour task is to: put a hot egg in countertop."
)


class Alone(App[None]):
    """One widget and nothing else, in the project's themes."""

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        register_themes(self)
        self.widget = widget

    def compose(self) -> ComposeResult:
        yield self.widget


def text(widget: Widget) -> str:
    """What ``widget`` shows within its frame, without spaces at the ends of lines."""
    return "\n".join(widget.render_line(y).text.rstrip() for y in range(widget.content_size.height)).rstrip()


def started(**changes: Any) -> events.Started:
    """The start of a game in a small kitchen."""
    plain = events.Started(
        world="alfworld", engine="native", task="t", split="valid_seen", number=17, type="heat",
        goal="put a hot egg in countertop.", wording="template", agent="expert", max_turns=50, seed=0, opening=OPENING,
        format=FORMAT,
    )  # fmt: skip
    return plain.model_copy(update=changes)


def step(turn: int, command: str, answer: str) -> events.Stepped:
    """A command that was taken."""
    return events.Stepped(turn=turn, command=command, observation=answer, accepted=True)


def after(*bodies: events.Body) -> ViewState:
    """The state after ``bodies``, one the parent of the next."""
    chain = (Event(id=number, parent=number - 1 if number else None, body=body) for number, body in enumerate(bodies))
    return replayed(with_beliefs(chain))
