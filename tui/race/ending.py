"""How a race ended: who was quicker, and how both compare with the expert and the shortest way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget

from agent.episodes.events import Ended
from agent.evaluation.analysis.failures import Failure
from agent.evaluation.analysis.paths import PathLengths
from tui.episode.ending import par_bars
from tui.text import plural
from tui.theme import role_style
from tui.widgets.bars import Bar, bars
from tui.widgets.lines import flat

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


class RaceEnding(Widget):
    """A card shown when both games are over. What is still being measured has its place and is filled in later."""

    DEFAULT_CSS = """
    RaceEnding {
        display: none;
        padding: 0 2;
        background: $background;
        color: $foreground;
        border: round $frame;
        border-title-color: $foreground;
        border-title-style: bold;
        border-subtitle-color: $quiet;
        &.-ahead { border: round $won; border-title-color: $won; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._results: tuple[RaceResult, RaceResult] | None = None
        self._par: PathLengths | None = None

    def show(self, you: RaceResult, rival: RaceResult, par: PathLengths | None) -> None:
        """Compare both; ``par`` None: it is being measured."""
        if (you, rival, par) == (*(self._results or (None, None)), self._par) and self.display:
            return
        self._results, self._par = (you, rival), par
        self.display = True
        self.set_class(faster(you, rival) is you, "-ahead")
        self.border_title = Content(_title(you, rival))
        self.styles.height = _FRAME + 1 + len(self._rows(you, rival)) + sum(not one.won for one in (you, rival))
        self.refresh()

    def render(self) -> Content:
        if self._results is None:
            return Content("")
        you, rival = self._results
        width = self.content_size.width
        lines = [Content.styled(verdict(you, rival), "bold"), *bars(self._rows(you, rival), width), *_missed((you, rival))]
        return Content("\n").join(line.truncate(width, ellipsis=True) for line in lines)

    def _rows(self, you: RaceResult, rival: RaceResult) -> list[Bar]:
        first = faster(you, rival)
        # Who races the expert has its bar already.
        par = [bar for bar in par_bars(self._par) if bar.label != rival.name]
        return [*(_bar(one, one is first) for one in (you, rival)), *par]


def faster(you: RaceResult, rival: RaceResult) -> RaceResult | None:
    """Who won in fewer turns, or alone; None where nobody did, or both at once."""
    if you.won != rival.won:
        return you if you.won else rival
    if not you.won or you.ended.turns == rival.ended.turns:
        return None
    return min(you, rival, key=lambda one: one.ended.turns)


def verdict(you: RaceResult, rival: RaceResult) -> str:
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


def _title(you: RaceResult, rival: RaceResult) -> str:
    first = faster(you, rival)
    if first is None:
        return "= A draw" if you.won else "○ Nobody won"
    return "✦ You were quicker" if first is you else f"○ {flat(first.name).capitalize()} was quicker"


def _bar(one: RaceResult, first: bool) -> Bar:
    note = f"{one.ended.outcome} · {one.ended.refused} refused{' · assisted' if one.ended.assisted else ''}"
    role = "person" if one.name == YOU else one.name.removeprefix("the ")
    return Bar(one.name, one.ended.turns, "bold $won" if first else role_style(role), note)


def _missed(results: Sequence[RaceResult]) -> list[Content]:
    return [
        Content.assemble(
            (f"{flat(one.name).capitalize()}: ", "bold"), (flat(one.failure.words if one.failure else one.ended.reason), "")
        )
        for one in results
        if not one.won
    ]
