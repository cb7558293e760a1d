"""The card at the end of a game or of a race: how it went, and how many turns it takes others, as bars beneath each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from housequest.agent.episodes.events import Ended, Outcome
from housequest.agent.evaluation.analysis.failures import Failure
from housequest.agent.evaluation.analysis.metrics import PathLengths
from housequest.tui.episode.recording import OUTCOME_WORDS
from housequest.tui.episode.state import EpisodeMoment, ViewState
from housequest.tui.keymap import Equipped
from housequest.tui.text import plural
from housequest.tui.theme import role_style
from housequest.tui.widgets.lines import cut_lines, flat

YOU = "you"
_WORDS = 2  # lines kept for why a game was lost
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
_BROADEST = 3  # cells that a turn is given at most
_FRAME = 2


class Bar(NamedTuple):
    """One bar: whose it is, how many turns (None: not known), and in which style, with a ``note`` behind it."""

    label: str
    turns: int | None
    style: str = "$quiet"
    note: str = ""


def bars(rows: Sequence[Bar], width: int) -> list[Content]:
    """A line for each of ``rows``: the same number of cells for each turn, or numbers alone if there is no room for bars."""
    noted = max((cell_len(row.note) + _GAP for row in rows if row.note and row.turns is not None), default=0)
    longest = max((row.turns or 0 for row in rows), default=0)
    indent = min(max((cell_len(flat(row.label)) for row in rows), default=0), max(width // 2, 1)) + _GAP
    room = width - indent - len(str(longest)) - _GAP - noted
    scale = min(_BROADEST, room // max(longest, 1)) or room / max(longest, 1)

    def line(row: Bar) -> Content:
        name = Content.styled(flat(row.label), "$quiet").truncate(indent - _GAP, ellipsis=True)
        name = name.pad_right(max(0, indent - name.cell_length))
        if row.turns is None:
            return name + Content.styled(row.note, "$quiet")
        bar = _BAR * max(round(row.turns * scale), 1 if row.turns else 0) if room >= _LEAST else ""
        note = f"  {row.note}" if row.note else ""
        return Content.assemble(name, (f"{bar}  " if bar else "", row.style), (str(row.turns), "bold"), (note, "$quiet"))

    return [line(row).truncate(width, ellipsis=True) for row in rows]


def _par_bars(par: PathLengths | None) -> tuple[Bar, Bar]:
    """The turns of the expert and of the shortest way, as bars; both have their places while they are measured."""
    known = par or PathLengths()
    unknown = _UNKNOWN if par else _PENDING
    unwon = unknown if known == PathLengths() else "does not win this one"
    return (
        Bar("the expert", known.expert, note=unwon if known.expert is None else ""),
        Bar("the shortest", known.shortest, note=unknown if known.shortest is None else ""),
    )


class Card(Equipped, Widget):
    """A framed card about the end of a game, not displayed until there is one."""


class Ending(Card):
    """A card of seven lines, shown at the end of a game. What is still being measured is filled in later."""

    _shown: tuple[EpisodeMoment, bool, PathLengths | None, Failure | None] = EpisodeMoment(), False, None, None
    _shares: Sequence[str] = ()

    def show(
        self,
        state: ViewState,
        par: PathLengths | None = None,
        failure: Failure | None = None,
        enacted: str = "",
        shares: Sequence[str] = (),
    ) -> None:
        """Show how the game ended, if it did; ``par`` is None while it is measured, ``enacted`` counts a simulator's actions.
        In a game of several, ``shares`` say who did what.
        """
        if shares != self._shares:
            self._shares = shares
            self.set_class(bool(shares), "-shared")
            self.refresh(layout=True)
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
        if (ended := moment.ended) is None:
            return Content("")
        width = self.content_size.width
        if moment.started is not None and moment.started.players:
            how = f"{OUTCOME_WORDS[ended.outcome].partition(' ')[2].capitalize()} {plural(ended.turns, 'round')} together."
            told = [Content.styled(how, f"bold {_LOOKS[ended.outcome][1]}"), *(Content(flat(one)) for one in self._shares)]
            return Content("\n").join(told)
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
    rows = [Bar(player, ended.turns, "bold $won"), *_par_bars(par)]
    if player == "expert" and (par is None or par.expert in {None, ended.turns}):
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
    if par is None:
        best = f"It can be done in {_PENDING}"
    elif par.expert is None:
        best = "In how many turns it can be done is not known."
        if par.shortest is not None:
            best = f"It can be done in {plural(par.shortest, 'turn')}; the expert does not manage it."
    else:
        shortest = "" if par.shortest is None else f", the shortest way {par.shortest}"
        best = f"The expert takes {plural(par.expert, 'turn')}{shortest}."
    return [Content.styled(f"{title}.", f"bold {_LOOKS[ended.outcome][1]}"), *why, Content.styled(best, "$quiet")]


def _player(moment: EpisodeMoment) -> str:
    agent = moment.started.agent if moment.started else ""
    persons = [entry.by == "person" for entry in moment.story]
    if agent == "human" or (persons and all(persons)):
        return YOU
    return f"{agent} and you" if any(persons) else agent or "this game"


class RaceResult(NamedTuple):
    """The end of a game in a race, and why it was not won; ``name`` is ``you`` for the person's."""

    name: str
    ended: Ended
    failure: Failure | None = None

    @property
    def won(self) -> bool:
        return self.ended.outcome == "won"


class RaceEnding(Card):
    """A card shown when both games are over. What is still being measured has its place and is filled in later."""

    _shown: tuple[RaceResult, RaceResult, PathLengths | None] | None = None

    def show(self, you: RaceResult, rival: RaceResult, par: PathLengths | None) -> None:
        """Compare both; ``par`` None: it is being measured."""
        if (you, rival, par) == self._shown:
            return
        self._shown = you, rival, par
        self.display = True
        first = faster(you, rival)
        self.set_class(first is you, "-won")
        if first is None:
            title = "= A draw" if you.won else "○ Nobody won"
        else:
            title = "✦ You were quicker" if first is you else f"○ {flat(first.name).capitalize()} was quicker"
        self.border_title = Content(title)
        self.styles.height = _FRAME + 1 + len(_race_bars(you, rival, par)) + sum(not one.won for one in (you, rival))
        self.refresh()

    def render(self) -> Content:
        if self._shown is None:
            return Content("")
        you, rival, _ = self._shown
        width = self.content_size.width
        lines = [Content.styled(race_verdict(you, rival), "bold"), *bars(_race_bars(*self._shown), width)]
        for one in (you, rival):
            if not one.won:
                why = flat(one.failure.words if one.failure else one.ended.reason)
                lines.append(Content.assemble((f"{flat(one.name).capitalize()}: ", "bold"), why))
        return Content("\n").join(line.truncate(width, ellipsis=True) for line in lines)


def _race_bars(you: RaceResult, rival: RaceResult, par: PathLengths | None) -> list[Bar]:
    first = faster(you, rival)
    rows: list[Bar] = []
    for one in (you, rival):
        note = f"{one.ended.outcome} · {one.ended.refused} refused{' · assisted' if one.ended.assisted else ''}"
        role = "person" if one.name == YOU else one.name.removeprefix("the ")
        rows.append(Bar(one.name, one.ended.turns, "bold $won" if one is first else role_style(role), note))
    # Who races the expert has its bar already.
    return [*rows, *(bar for bar in _par_bars(par) if bar.label != rival.name)]


def faster(you: RaceResult, rival: RaceResult) -> RaceResult | None:
    """The one that won in fewer turns, or alone; None where nobody did, or both did in as many."""
    if you.won != rival.won:
        return you if you.won else rival
    if not you.won or you.ended.turns == rival.ended.turns:
        return None
    return min(you, rival, key=lambda one: one.ended.turns)


def race_verdict(you: RaceResult, rival: RaceResult) -> str:
    """A sentence on who was quicker."""
    name, yours, theirs = flat(rival.name), you.ended.turns, rival.ended.turns
    if (first := faster(you, rival)) is None:
        return f"Both of you won in {plural(yours, 'turn')}." if you.won else "Neither of you won this one."
    who, other = ("You", name) if first is you else (name.capitalize(), "you")
    behind = f", {abs(yours - theirs)} fewer than {other}" if you.won and rival.won else f"; {other} did not"
    return f"{who} won in {plural(first.ended.turns, 'turn')}{behind}."
