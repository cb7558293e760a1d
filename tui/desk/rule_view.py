"""A rule in detail with its witnesses, each of which can be replayed; and two rules side by side."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from housequest.knowledge.mining import Location, read_sentence
from housequest.knowledge.rules import USUAL, Rule, wilson
from housequest.tui.desk.rule_list import FOR, GLYPHS, STANDING_STYLES, gauge
from housequest.tui.desk.rule_text import STANDING_MARKS, edit_line, who
from housequest.tui.desk.state import CountedHere
from housequest.tui.desk.witnesses import FoundWitness, Witness
from housequest.tui.text import percentage, printable
from housequest.tui.widgets.lines import flat, hung
from housequest.worlds.errors import HousequestError

LINE, MIDDLE = "─", "┼"
LABEL = 8
"""Columns of the words before a bar."""

_UNNAMED = "none: these counts name no recorded step"

FindWitnesses = Callable[[Sequence[str]], Awaitable[tuple[Witness, ...]]]
"""Finds witnesses by their origins."""


class RuleView(Vertical):
    """Shows a rule. ``look_up`` finds its witnesses, and opening one posts ``Opened``."""

    DEFAULT_CSS = """
    RuleView {
        VerticalScroll {
            height: 1fr; min-height: 4; padding: 0 1; border: round $frame; border-title-color: $quiet;
            scrollbar-size-vertical: 1;
            &:focus { border: round $foreground; border-title-color: $foreground; }
        }
        &.-chosen VerticalScroll { border-title-color: $goal; border-title-style: bold; }
        OptionList {
            height: auto; min-height: 3; max-height: 45%; border: round $frame; padding: 0 1; background: transparent;
            scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis;
            border-title-color: $quiet; border-subtitle-color: $quiet;
            &:focus { border: round $foreground; border-title-color: $foreground; background-tint: transparent; }
            & > .option-list--option-highlighted { background: transparent; text-style: none; }
            &:focus > .option-list--option-highlighted { background: $panel; text-style: bold; }
        }
    }
    """

    @dataclass
    class Opened(Message):
        """A witness was opened."""

        witness: Witness

    def __init__(self, look_up: FindWitnesses, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._look_up = look_up
        self.rule: Rule | None = None
        self._contraries: tuple[Rule, ...] = ()
        self._here: CountedHere | None = None
        self._nothing = ""
        self._witnesses: tuple[Witness, ...] = ()

    def compose(self) -> ComposeResult:
        yield VerticalScroll(Static())
        witnesses = OptionList()
        witnesses.border_title = "Witnesses"
        yield witnesses

    def show(
        self, rule: Rule | None, contraries: Sequence[Rule] = (), here: CountedHere | None = None, nothing: str = ""
    ) -> None:
        """Show ``rule``, the rules that contradict it, and what was counted ``here``; without a rule, show ``nothing``."""
        if (rule, tuple(contraries), here, nothing) == (self.rule, self._contraries, self._here, self._nothing):
            return
        other = rule is None or self.rule is None or rule.id != self.rule.id or rule.evidence != self.rule.evidence
        self.rule, self._contraries, self._here, self._nothing = rule, tuple(contraries), here, nothing
        self._draw()
        if other:
            self.query_one(VerticalScroll).scroll_home(animate=False)
            self._look()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        scroll, rule = self.query_one(VerticalScroll), self.rule
        scroll.border_title = Content(flat(rule.id) if rule else "Rule")
        nothing = Content.styled(self._nothing, "$quiet")
        lines = _lines(rule, self._contraries, self._here, max(20, self.size.width - 5)) if rule else [nothing]
        self.query_one(Static).update(Content("\n").join(lines))

    def _look(self) -> None:
        self._witnesses = ()
        self._list.clear_options()
        self._list.border_subtitle = Content("")
        rule = self.rule
        if rule and (rule.evidence.witnesses or rule.evidence.against):
            self.run_worker(partial(self._read, rule), group="witnesses", exclusive=True)
        else:
            self._say(_UNNAMED if rule and rule.evidence else "none named" if rule else "")

    async def _read(self, rule: Rule) -> None:
        try:
            found = await self._look_up((*rule.evidence.witnesses, *rule.evidence.against))
        except (HousequestError, OSError) as error:
            self._say(f"The witnesses cannot be read: {error}")
            return
        self._witnesses = found
        supporting = len(rule.evidence.witnesses)
        self._list.set_options(Option(_witnessed(each, place < supporting)) for place, each in enumerate(found))
        self._list.highlighted = 0 if found else None

    def _say(self, text: str) -> None:
        if text:
            self._list.add_option(Option(Content.styled(flat(text), "$quiet"), disabled=True))

    @on(OptionList.OptionHighlighted)
    def _moved(self, message: OptionList.OptionHighlighted) -> None:
        message.stop()
        if message.option_index < len(self._witnesses):
            witness = self._witnesses[message.option_index]
            does = "enter replays it" if isinstance(witness, FoundWitness) else "enter says why"
            self._list.border_subtitle = Content(f"{does} · {flat(witness.origin)}")

    @on(OptionList.OptionSelected)
    def _chosen(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        if message.option_index < len(self._witnesses):
            self.post_message(self.Opened(self._witnesses[message.option_index]))

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)


class RulePair(Horizontal):
    """Shows two rules side by side; left and right move the focus between them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "side(0)", "Left rule", show=False),
        Binding("right", "side(1)", "Right rule", show=False),
    ]
    DEFAULT_CSS = """
    RulePair {
        RuleView { width: 1fr; }
        RuleView OptionList { height: 45%; }
        RuleView.-chosen { VerticalScroll, OptionList { border: round $foreground; } }
    }
    """

    def __init__(self, look_up: FindWitnesses, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._sides = (RuleView(look_up), RuleView(look_up))
        self._at = 0

    def compose(self) -> ComposeResult:
        yield from self._sides

    def show(self, one: Rule, other: Rule) -> None:
        self._sides[0].show(one)
        self._sides[1].show(other)

    @property
    def rules(self) -> tuple[Rule | None, Rule | None]:
        return self._sides[0].rule, self._sides[1].rule

    @property
    def rule(self) -> Rule | None:
        """The rule that has the focus."""
        return self._sides[self._at].rule

    @property
    def other(self) -> Rule | None:
        """The rule beside it."""
        return self._sides[1 - self._at].rule

    def action_side(self, side: int) -> None:
        self._sides[side].query_one(OptionList).focus()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        for place, view in enumerate(self._sides):
            has = event.widget in view.walk_children()
            self._at = place if has else self._at
            view.set_class(has, "-chosen")


def _lines(rule: Rule, contraries: Sequence[Rule], here: CountedHere | None, width: int) -> Iterator[Content]:
    yield Content.styled(printable(rule.statement), "bold")
    origin = rule.origin
    stated = f"stated by a {origin.source}{f' ({origin.name})' if origin.name else ''}"
    parts = [
        f"{GLYPHS[rule.status]} {rule.status}{'' if rule.status == 'candidate' else f' by {who(rule.by)}'}",
        *([rule.kind] if rule.kind else []),
        stated,
    ]
    yield Content.styled(flat(" · ".join(parts)), "$quiet")
    for name, words in (("tasks", rule.types), ("things", rule.objects)):
        if words:
            yield from hung(_label(name), Content(flat(", ".join(words))), width)
    if rule.check:
        yield from hung(_label("check"), Content(flat(str(rule.check))), width)
    if location := read_sentence(rule.statement):
        yield from hung(_label("counted"), Content(flat(str(location))), width)
    yield from _evidence(rule, width)
    if here is not None:
        yield from hung(_label("here"), _counted(here), width)
    for other in contraries:
        yield Content.assemble(("⇄ contradicts  ", "$fault"), (f"{flat(other.id)}: ", "bold"), flat(other.statement))
    for edit in reversed(rule.history):
        yield Content.styled(flat(edit_line(edit)), "$quiet")


def _evidence(rule: Rule, width: int) -> list[Content]:
    """The evidence of ``rule`` in lines of about ``width`` columns, with the 95 % interval where that decides."""
    evidence, standing = rule.evidence, rule.standing
    if not evidence:
        told = "none counted; v checks it." if rule.check else "none counted: it has no check; e adds one."
        return hung(_label("evidence"), Content.styled(told, "$quiet"), width)
    cells = max(8, min(24, width - LABEL - 2))
    trials = evidence.supports + evidence.contradicts
    verdict = Content.assemble((f"{STANDING_MARKS[standing]} {standing}", f"bold {STANDING_STYLES[standing]}"))
    counts = f"  {evidence.supports:,} for · {evidence.contradicts:,} against"
    lines = hung(_label("evidence"), verdict + Content(counts), width)
    bar = gauge(evidence, cells)
    if rule.kind not in USUAL:
        why = "" if not evidence.contradicts else "  one is enough"
        return [*lines, Content.assemble(" " * (LABEL + 2), bar, (why, "$quiet"))]
    ends = wilson(evidence.supports, trials)
    share = f"  {percentage(evidence.supports / trials)} %"
    interval = f"  {percentage(ends.low)}-{percentage(ends.high)} % ({MIDDLE} half)"
    scale = [LINE] * cells
    scale[cells // 2] = MIDDLE
    for cell in range(_cell(ends.low, cells), _cell(ends.high, cells) + 1):
        scale[cell] = FOR if scale[cell] == LINE else "┿"
    drawn = Content.assemble(*((each, "$frame" if each in {LINE, MIDDLE} else STANDING_STYLES[standing]) for each in scale))
    return [
        *lines,
        Content.assemble(" " * (LABEL + 2), bar, (share, "")),
        Content.assemble((f"{'95 %':<{LABEL}}  ", "$quiet"), drawn, (interval, "$quiet")),
    ]


def _counted(here: CountedHere) -> Content:
    """What the records here say, beside what was counted elsewhere."""
    if isinstance(here, Location):
        return Content(f"seen in {here}")
    verdict = Content.styled(f"{STANDING_MARKS[here.standing]} {here.standing}", f"bold {STANDING_STYLES[here.standing]}")
    counts = Content(f"  {here.evidence.supports:,} for · {here.evidence.contradicts:,} against")
    return verdict + counts + Content.styled("; V takes these counts instead", "$quiet")


def _cell(rate: float, cells: int) -> int:
    return min(cells - 1, int(rate * cells))


def _label(word: str) -> Content:
    return Content.styled(f"{word:<{LABEL}}  ", "$quiet")


def _witnessed(witness: Witness, supports: bool) -> Content:
    side = ("for      ", "$won") if supports else ("against  ", "$fault")
    if isinstance(witness, FoundWitness):
        return Content.assemble(side, "> ", flat(witness.command), (f"  {flat(witness.observation)}", "$quiet"))
    return Content.assemble(side, (f"not on disk  {flat(witness.origin)}", "$quiet"))
