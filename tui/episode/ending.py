"""The card at the end of a game: how it went, and in how many turns the task can be won, as bars beneath each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from housequest.agent.episodes.events import Ended, Outcome
from housequest.agent.evaluation.analysis.experts import PathLengths
from housequest.agent.evaluation.analysis.failures import Failure
from housequest.tui.episode.branches import OUTCOME_WORDS
from housequest.tui.episode.state import EpisodeMoment, ViewState
from housequest.tui.text import plural
from housequest.tui.widgets.lines import cut_lines, flat

EXPERT = "expert"
_WORDS = 2
"""Lines kept for why a game was lost."""
_PENDING = "…"
_UNKNOWN = "not known"

_LOOKS: dict[Outcome, tuple[str, str]] = {
    "won": ("Won", "$won"),
    "lost": ("Lost", "$goal"),
    "stopped": ("Stopped", "$quiet"),
    "error": ("Broken off", "$fault"),
}
"""The word and the style of each outcome."""
_BAR = "━"
_GAP = 2
_LEAST = 4
_BROADEST = 3
"""Cells that a turn is given at most."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: whose it is, how many turns (None: not known), and in which style, with a ``note`` behind it."""

    label: str
    turns: int | None
    style: str = "$quiet"
    note: str = ""


def bars(rows: Sequence[Bar], width: int) -> list[Content]:
    """A line of at most ``width`` columns for each of ``rows``: some cells a turn, the same number in all of them.

    Where there is no room for a bar, the numbers stand alone.
    """
    labels = [flat(row.label) for row in rows]
    noted = max((cell_len(row.note) + _GAP for row in rows if row.note and row.turns is not None), default=0)
    longest = max((row.turns or 0 for row in rows), default=0)
    indent = min(max((cell_len(label) for label in labels), default=0), max(width // 2, 1)) + _GAP
    room = width - indent - len(str(longest)) - _GAP - noted
    return [
        _bar_line(row, label, indent, room, longest).truncate(width, ellipsis=True)
        for row, label in zip(rows, labels, strict=True)
    ]


def _bar_line(row: Bar, label: str, indent: int, room: int, longest: int) -> Content:
    name = Content.styled(label, "$quiet").truncate(indent - _GAP, ellipsis=True)
    name = name.pad_right(max(0, indent - name.cell_length))
    if row.turns is None:
        return name + Content.styled(row.note, "$quiet")
    scale = min(_BROADEST, room // max(longest, 1)) or room / max(longest, 1)
    bar = _BAR * max(round(row.turns * scale), 1 if row.turns else 0) if room >= _LEAST else ""
    note = f"  {row.note}" if row.note else ""
    return Content.assemble(name, (f"{bar}  " if bar else "", row.style), (str(row.turns), "bold"), (note, "$quiet"))


class Card(Widget):
    """A framed card about the end of a game, not displayed until there is one."""

    DEFAULT_CSS = """
    Card {
        display: none;
        padding: 0 2;
        border: round $frame;
        border-title-color: $foreground;
        border-title-style: bold;
        border-subtitle-color: $quiet;
        &.-won { border: round $won; border-title-color: $won; }
        &.-error { border: round $fault; border-title-color: $fault; }
    }
    """


class Ending(Card):
    """A card of seven lines, shown at the end of a game. What is still being measured is filled in later."""

    DEFAULT_CSS = "Ending { height: 7; }"

    _shown: tuple[EpisodeMoment, bool, PathLengths | None, Failure | None] = EpisodeMoment(), False, None, None

    def show(self, state: ViewState, par: PathLengths | None = None, failure: Failure | None = None, enacted: str = "") -> None:
        """Show how the game in ``state`` ended; nothing while it goes on.

        ``par`` None: it is being measured. ``failure`` is why it was not won; ``enacted``: what a simulator made of it.
        """
        if (shown := (state.moment, state.assisted, par, failure)) != self._shown:
            self._shown = shown
            self.refresh()
        ended = state.moment.ended
        self.display = ended is not None
        if ended is not None:
            title = f"{OUTCOME_WORDS[ended.outcome][0]} {_LOOKS[ended.outcome][0]}"
            self.border_title, self.border_subtitle = Content(title), Content(enacted)
            for outcome in _LOOKS:
                self.set_class(outcome == ended.outcome, f"-{outcome}")

    def render(self) -> Content:
        moment, assisted, par, failure = self._shown
        ended = moment.ended
        if ended is None:
            return Content("")
        width = self.content_size.width
        won = ended.outcome == "won"
        lines = _won(ended, _player(moment), par, width) if won else _missed(ended, failure, par, width)
        facts = [f"{moment.met} of {plural(moment.conditions, 'condition')} met"] if moment.conditions else []
        facts += [f"{plural(ended.refused, 'command')} refused"] if ended.refused else []
        facts += ["assisted by a person"] if assisted or ended.assisted else []
        lines.append(Content.styled(" · ".join(facts), "$quiet"))
        return Content("\n").join(line.truncate(width, ellipsis=True) for line in lines)


def _won(ended: Ended, player: str, par: PathLengths | None, width: int) -> list[Content]:
    verdict = ""
    if par and par.shortest is not None and ended.turns <= par.shortest:
        verdict = " Nobody could have been quicker."
    elif par and par.expert is not None and ended.turns < par.expert:
        verdict = " That beats the expert."
    rows = [Bar(player, ended.turns, "bold $won"), *par_bars(par)]
    if player == EXPERT and (par is None or par.expert in {None, ended.turns}):
        del rows[1]  # its own bar says the same
    return [Content.assemble((f"In {plural(ended.turns, 'turn')}.", "bold $won"), (verdict, "$won")), *bars(rows, width)]


def _missed(ended: Ended, failure: Failure | None, par: PathLengths | None, width: int) -> list[Content]:
    title = f"After {plural(ended.turns, 'turn')}"
    if failure is not None and ended.outcome != "stopped":
        later = ended.outcome == "lost" and failure.turn != ended.turns
        title += f": {failure.label}" + (f", turn {failure.turn}" if later else "")
    words = flat(failure.words if failure else ended.message or ended.reason)
    why = cut_lines(Content(words).wrap(max(width, 8)) if words else [], _WORDS, width)
    why += [Content("")] * (_WORDS - len(why))
    style = f"bold {_LOOKS[ended.outcome][1]}"
    return [Content.styled(f"{title}.", style), *why, Content.styled(_par_words(par), "$quiet")]


def _player(moment: EpisodeMoment) -> str:
    """Who played: the agent, a person, or both."""
    agent = moment.started.agent if moment.started else ""
    persons = [entry.by == "person" for entry in moment.story]
    if agent == "human" or (persons and all(persons)):
        return "you"
    return f"{agent} and you" if any(persons) else agent or "this game"


def par_bars(par: PathLengths | None) -> tuple[Bar, Bar]:
    """The turns of the expert and of the shortest way, as bars; both have their places while they are measured."""
    if par is None or par == PathLengths():
        note = _UNKNOWN if par else _PENDING
        return Bar("the expert", None, note=note), Bar("the shortest", None, note=note)
    return (
        Bar("the expert", par.expert, note="does not win this one" if par.expert is None else ""),
        Bar("the shortest", par.shortest, note=_UNKNOWN if par.shortest is None else ""),
    )


def _par_words(par: PathLengths | None) -> str:
    if par is None:
        return f"It can be done in {_PENDING}"
    if par.expert is None and par.shortest is None:
        return "In how many turns it can be done is not known."
    if par.expert is None:
        return f"It can be done in {plural(par.shortest or 0, 'turn')}; the expert does not manage it."
    best = "" if par.shortest is None else f", the shortest way {par.shortest}"
    return f"The expert takes {plural(par.expert, 'turn')}{best}."
