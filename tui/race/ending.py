"""How a race ended: who was quicker, and how both compare with the expert and the shortest way."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content

from housequest.agent.episodes.events import Ended
from housequest.agent.evaluation.analysis.experts import PathLengths
from housequest.agent.evaluation.analysis.failures import Failure
from housequest.tui.episode.ending import Bar, Card, bars, par_bars
from housequest.tui.text import plural
from housequest.tui.theme import role_style
from housequest.tui.widgets.lines import flat

YOU = "you"
_FRAME = 2


@dataclass(frozen=True, slots=True)
class RaceResult:
    """How a game of a race ended, and why it was not won; ``name`` is ``you`` for the person's."""

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
        self.styles.height = _FRAME + 1 + len(_rows(you, rival, par)) + sum(not one.won for one in (you, rival))
        self.refresh()

    def render(self) -> Content:
        if self._shown is None:
            return Content("")
        you, rival, _ = self._shown
        width = self.content_size.width
        lines = [Content.styled(race_verdict(you, rival), "bold"), *bars(_rows(*self._shown), width)]
        for one in (you, rival):
            if not one.won:
                why = flat(one.failure.words if one.failure else one.ended.reason)
                lines.append(Content.assemble((f"{flat(one.name).capitalize()}: ", "bold"), why))
        return Content("\n").join(line.truncate(width, ellipsis=True) for line in lines)


def _rows(you: RaceResult, rival: RaceResult, par: PathLengths | None) -> list[Bar]:
    first = faster(you, rival)
    rows: list[Bar] = []
    for one in (you, rival):
        note = f"{one.ended.outcome} · {one.ended.refused} refused{' · assisted' if one.ended.assisted else ''}"
        role = "person" if one.name == YOU else one.name.removeprefix("the ")
        rows.append(Bar(one.name, one.ended.turns, "bold $won" if one is first else role_style(role), note))
    # Who races the expert has its bar already.
    return [*rows, *(bar for bar in par_bars(par) if bar.label != rival.name)]


def faster(you: RaceResult, rival: RaceResult) -> RaceResult | None:
    """Who won in fewer turns, or alone; None where nobody did, or both at once."""
    if you.won != rival.won:
        return you if you.won else rival
    if not you.won or you.ended.turns == rival.ended.turns:
        return None
    return min(you, rival, key=lambda one: one.ended.turns)


def race_verdict(you: RaceResult, rival: RaceResult) -> str:
    """Who was quicker, in a sentence."""
    name, yours, theirs = flat(rival.name), you.ended.turns, rival.ended.turns
    if you.won and rival.won:
        if yours == theirs:
            return f"Both of you won in {plural(yours, 'turn')}."
        if yours < theirs:
            return f"You won in {plural(yours, 'turn')}, {theirs - yours} fewer than {name}."
        return f"{name.capitalize()} won in {plural(theirs, 'turn')}, {yours - theirs} fewer than you."
    if you.won:
        return f"You won in {plural(yours, 'turn')}; {name} did not."
    if rival.won:
        return f"{name.capitalize()} won in {plural(theirs, 'turn')}; you did not."
    return "Neither of you won this one."
