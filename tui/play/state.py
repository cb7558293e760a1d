"""What a screen shows of a live game, and what a person can do in it at this moment.

No widget is needed: it is computed from the game, its status and its events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.binding import Binding

from housequest.agent.agents.spec import agent_spec
from housequest.agent.episodes.events import Ended
from housequest.tui.episode.state import EpisodeMoment, ViewState
from housequest.tui.keymap import screen_keys, unmet_need
from housequest.tui.play.game import HUMAN
from housequest.tui.play.live_screen import THEN, LiveGame, PromptContent, PromptKind, action_name, end_of, hints
from housequest.tui.play.session import Session
from housequest.tui.screens import game_modes
from housequest.worlds.base import CommandKey

_Prompt = tuple[PromptKind, str, Mapping[str, str]]  # a kind of prompt, its text, and what each key does


class GameView(LiveGame):
    """A live game with the turn that the person looks at: ``cursor`` is its event, None at the present.

    It says which keys do something at this moment, and what the prompt is.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.cursor: int | None = None
        self._end: int | None = None

    @property
    def shown(self) -> ViewState:
        """The branch that the person looks at, as far as it went: the present one unless they went to another."""
        return self.state if self.cursor is None or self._end is None else self.state.at(self._end)

    @property
    def moment(self) -> EpisodeMoment:
        return self.state.moment if self.cursor is None else self.state.moments[self.cursor]

    def look_at(self, event: int | None, end: int | None = None) -> None:
        """Look at the moment after this event; that of the last turn is the present.

        With ``end``, it is on the branch that ends with that event, else on the one that is looked at.
        """
        self._end = end if end is not None else None if self.cursor is None else self._end
        self.cursor = None if event == self._present else event

    def move(self, by: int) -> None:
        """Look ``by`` turns further on, or back where it is negative; after the last turn comes the present."""
        stops = self._stops()
        here = stops.index(self.cursor) if self.cursor in stops else len(stops) - (self._present is not None)
        place = max(0, here + by)
        self.look_at(stops[place] if place < len(stops) else None)

    def branch(self) -> None:
        """Play on from the turn looked at; at the present, look at the turn at which the game was lost."""
        if self.cursor is None:
            self.look_at(self.missed)
        else:
            self.session.rewind(self.cursor)
            self.cursor = None

    @property
    def _present(self) -> int | None:
        """The event of the last turn, unless the game ended later than with it."""
        last, anchor = self.events[-1] if self.events else None, self.state.moment.anchor
        later = last is not None and isinstance(last.body, Ended) and last.parent != anchor
        return None if later else anchor

    def _stops(self) -> list[int]:
        """The events that one can look back to, from the start on."""
        start = next(iter(self.state.moments))
        return [start, *(entry.id for entry in self.shown.moment.story)]

    @property
    def missed(self) -> int | None:
        """The event before the turn at which the game was lost."""
        moment = self.state.moment
        if self.failure is None or moment.ended is None or not 0 < self.failure.turn <= len(moment.story):
            return None
        return self._stops()[self.failure.turn - 1]

    def refusal(self, action: str) -> str | None:
        """Why ``action`` does nothing now, and what to do instead; None where it does something."""
        if self.status.waiting == "opening" and action not in WHILE_OPENING:
            return "The world is still being opened."
        return unmet_need("play", action, self.facts, self.game.agent)

    def facts(self) -> dict[str, object]:
        """What holds now, as the needs in ``keys.toml`` name it."""
        status, past, agent = self.status, self.cursor is not None, self.game.agent != HUMAN
        over, watching = status.waiting == "over", status.mode == "watch"
        return {
            "open": status.waiting != "closed",
            "going on": not over,
            "over": over,
            "agent": agent,
            "model": agent_spec(self.game.agent).needs_model,
            "camera": self.session.glimpses,
            "watching": watching,
            "shown": over or watching,
            "shown or agent": over or watching or agent,
            "proposed": status.waiting == "verdict",
            "keys": self.game.world.keys,
            "listed": status.possible is not None,
            "begun": self.state.moment.story,
            "past": past,
            "turn": past or (over and self.missed is not None),
            "away": past or (status.waiting == "deciding" and agent),
            "rewound": self.rewound,
            "stuck": status.waiting in {"failed", "closed"},
        }

    def prompt(self, *, typing: bool = False) -> PromptContent:
        """What the prompt says now, with those of its keys that do something.

        ``typing``: the line has the focus, so that letters are no keys.
        """
        kind, text, words = self._now() if self.cursor is None else self._past(self.cursor)
        keys = hints((*KEYS, *world_keys(self.game.world.keys)), words)
        held = [key for key in keys if self.refusal(action_name(key.action.removeprefix("screen."))) is None]
        if typing:
            # In the line already: what leads there is left out.
            kept = {"g", "t"} if kind == "yours" else {key.key for key in held} - {"e", "?"}
            held = [*hints((), THEN), *(key for key in held if key.key in kept)]
        return PromptContent(kind, text, tuple(held))

    def _past(self, cursor: int) -> _Prompt:
        shown = self.shown
        at = f"{self.state.moments[cursor].turn} of {shown.moment.turn}"
        at += "" if shown is self.state else " of another branch"
        return "selected", at, {"← →": "move", "b": "play on from here", "B": "branches", "esc": "to the present"}

    def _now(self) -> _Prompt:
        moment, agent = self.state.moment, self.game.agent
        at = f"{moment.turn + 1} of {moment.started.max_turns}" if moment.started else ""
        hinted = "; your hint goes with the next turn" if self.status.hints else ""
        match self.status.waiting:
            case "opening":
                return "thinking", "opening the world", {}
            case "closed":
                # Beside a story there is no other place to say why.
                why = self.status.trouble if moment.story else ""
                return "message", why or "there is no game to play here", {"r": "try again", "m": "another model"}
            case "deciding":
                doing = f"{agent} is deciding{hinted}"
                if self.session.trouble:
                    doing = f"{agent} tries again; the model {self.session.trouble}"
                elif words := end_of(self.session.heard, LONGEST_HEARD):
                    doing = f"{agent}: {words}"
                return "thinking", doing, {"esc": "call it off", "t": "take over", "?": "hint"}
            case "acting":
                return "thinking", "the world answers", {}
            case "pace":
                pace = self.status.pace
                speed = "as fast as it goes" if pace > 50 else f"at most {pace:g} turn{'' if pace == 1 else 's'} a second"
                keys = {"space": "step", "s": "skill", "+ -": "pace", "t": "take over", "?": "hint"}
                return "thinking", f"{agent} plays, {speed}{hinted}", keys
            case "paused":
                keys = {"space": "ask the agent", "s": "skill", "a": "auto", "t": "take over", "?": "hint"}
                return "waiting", f"before turn {at}{hinted}", keys
            case "verdict":
                keys = {"enter": "accept", "s": "skill", "e": "edit", "o": "another", "t": "take over", "?": "hint"}
                return "proposed", f"{moment.proposal or ''}{' (the same again)' if self.status.repeated else ''}", keys
            case "turn":
                played = {_shown(key): key.about.lower() for key in self.game.world.keys}
                acting = {"x": "act on the middle"} if self.game.world.keys else dict[str, str]()
                return "yours", at, {**played, **acting, ":": "type a command", "g": "possible commands", "t": "hand back"}
            case "failed":
                keys = {"r": "try again", "m": "another model", "t": "take over"}
                return "failed", self.status.failure or moment.failure or "", keys
            case "over":
                keys = {"p": "replay", "b": "to what was missed", "←": "rewind", "n": "next task"}
                return "over", "the game is over", keys


_AGAIN = (
    Binding(mode.key, f"play_as('{mode.name}')", mode.title.capitalize(), tooltip=mode.again)
    for mode in game_modes()
    if mode.again
)
KEYS = screen_keys("play", modes=_AGAIN)

_TAKEN = frozenset(name for key in KEYS for name in key.key.split(","))


def world_keys(keys: Sequence[CommandKey]) -> tuple[Binding, ...]:
    """Bindings for the keys of a world, without those that the screen itself has a use for."""
    return tuple(
        Binding(key.key, f"command({key.command!r})", key.about, key_display=_shown(key))
        for key in keys
        if key.key not in _TAKEN
    )


def _shown(key: CommandKey) -> str:
    names = {"shift": "⇧", "up": "↑", "down": "↓", "left": "←", "right": "→"}
    return "".join(names.get(part, part) for part in key.key.split("+"))


LONGEST_HEARD = 56
"""Characters of a reply that are shown while it is written: its end, which has to fit into a line of the prompt."""
WHILE_OPENING = frozenset(("leave", "pane", "next_pane", "large", "widen", "end_guide", "view", "fold", "app.command_palette"))
"""What can be done before there is a game; other keys are letters of something that was typed too early."""
