"""The rules of a book: in a list, with a bar of what is shown; one in detail with its witnesses; and two side by side."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest

from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from housequest.knowledge.rulebook import RuleDifference
from housequest.knowledge.rules import USUAL, Evidence, Rule, RuleStatus, Standing, Worth, wilson
from housequest.knowledge.sentences import Location
from housequest.tui.desk.rule_text import STANDING_MARKS, difference_text, figures, location_of, status_of, story_lines
from housequest.tui.desk.state import CountedHere, RuleFilter
from housequest.tui.desk.witnesses import FoundWitness, Witness
from housequest.tui.keymap import Equipped
from housequest.tui.runs.data import short_type
from housequest.tui.text import percentage, plural, printable
from housequest.tui.widgets.lines import FramedList, flat, labelled
from housequest.worlds.errors import HousequestError

GLYPHS: dict[RuleStatus, str] = {"accepted": "✓", "candidate": "·", "rejected": "×"}
"""A character for each status."""
_STYLES: dict[RuleStatus, str] = {"accepted": "$won", "candidate": "$new", "rejected": "$quiet"}
FOR, AGAINST = "━", "╌"
STANDING_STYLES: dict[Standing, str] = {"supported": "$won", "contradicted": "$fault", "undecided": "$quiet"}
BROAD = 84
"""Columns from which on a line also says the kind."""
_KEPT = 3
"""Words that a statement keeps at its beginning where it looks like others."""
_SHARED = 2
"""Words before the difference that it keeps, where there is room."""
_GAUGE, _KIND, _WORTH = 6, 12, 8
_BEFORE = 9 + _GAUGE
"""Columns of a line before the statement, but for the counts and the kind."""
LONGEST_WORDS = 200
"""Characters of the words that are searched for."""
LINE, MIDDLE, MAYBE = "─", "┼", "╍"
LABEL = 8
"""Columns of the words before a bar."""
_UNNAMED = "none: these counts name no recorded step"
FindWitnesses = Callable[[Sequence[str]], Awaitable[tuple[Witness, ...]]]
"""Finds witnesses by their origins."""


class FilterBar(Equipped, Horizontal, keys="filter"):
    """Shows a filter, of which the words are typed here, and a key for each other part."""

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("f", "bold $goal"), classes="label")
        yield Input(placeholder="words", compact=True, max_length=LONGEST_WORDS, select_on_focus=False)
        yield Static(id="filter-rest")

    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False

    def show(self, wanted: RuleFilter) -> None:
        keys = (
            ("s", wanted.status or "any status", wanted.status),
            ("k", wanted.kind or "any kind", wanted.kind),
            ("t", short_type(wanted.type) if wanted.type else "any task", wanted.type),
            ("c", "against", wanted.contradicted),
        )
        told = ((key, (word, "bold $new" if on else "$quiet")) for key, word, on in keys)
        parts = (Content.assemble((key, "bold $goal"), " ", word) for key, word in told)
        self.query_one("#filter-rest", Static).update(Content("  ").join(parts))
        # What is being typed is ahead of what has been looked for so far.
        line = self.query_one(Input)
        if line.value != wanted.words and not line.has_focus:
            with self.prevent(Input.Changed):
                line.value = wanted.words


class RuleList(FramedList):
    """Shows rules; an option's id is its rule's."""

    BORDER_TITLE = "Rules"
    _rules: tuple[Rule, ...] = ()
    _differs = False
    _marked: Collection[str] = ()

    def show(self, rules: Sequence[Rule], looked: Rule | None, marked: Collection[str]) -> None:
        """Show ``rules`` with ``looked`` highlighted; nothing is posted."""
        self._rules, self._marked, self._differs = tuple(rules), marked, False
        self.border_subtitle = "  ".join(f"{glyph} {status}" for status, glyph in GLYPHS.items())
        self._fill(looked)

    def show_differences(self, found: Sequence[RuleDifference], looked: RuleDifference | None, one: str, other: str) -> None:
        """Show in what rules the books ``one`` and ``other`` differ, with ``looked`` highlighted; nothing is posted."""
        self.border_subtitle = "+ only here  − only there  ≠ changed"
        self._differs, told = True, [flat(difference_text(each, one, other)) for each in found]
        widths = [max(map(len, column), default=0) for column in (told, [flat(each.id) for each in found])]
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(Option(_differing(each, text, *widths), each.id) for each, text in zip(found, told, strict=True))
            self.highlighted = found.index(looked) if looked in found else None

    def on_resize(self) -> None:
        if self._differs:
            return
        at = self.highlighted
        self._fill(self._rules[at] if at is not None and at < len(self._rules) else None)

    def _fill(self, looked: Rule | None) -> None:
        numbers = max((len(figures(rule.evidence)) for rule in self._rules), default=1)
        kinds, worth = self.size.width >= BROAD, _WORTH if any(rule.worth for rule in self._rules) else 0
        room = self.scrollable_content_region.width - numbers - worth - (_BEFORE + _KIND if kinds else _BEFORE)
        said = distinct(
            [flat(location.short if (location := location_of(rule)) else rule.statement) for rule in self._rules], room
        )
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(
                Option(_row(rule, text, rule.id in self._marked, numbers, worth, kinds), rule.id)
                for rule, text in zip(self._rules, said, strict=True)
            )
            self.highlighted = self._rules.index(looked) if looked in self._rules else None


def distinct(texts: Sequence[str], room: int) -> list[str]:
    """``texts`` to be cut off after ``room`` characters: of those that would then look the same, the middle is left out."""
    begun = {text: text for text in texts}
    groups = [list(begun)]
    while groups:
        alike: dict[str, list[str]] = {}
        for text in groups.pop():
            alike.setdefault(_cut(begun[text], room), []).append(text)
        for group in alike.values():
            told = begun if len(group) == 1 else _apart(group, room)
            if any(told[text] != begun[text] for text in group):
                begun |= told
                groups.append(group)
    return [begun[text] for text in texts]


def _apart(texts: Sequence[str], room: int) -> dict[str, str]:
    """``texts``, each without its middle, so that as many as possible look different in ``room``."""
    words = [text.split() for text in texts]
    same = sum(1 for _ in takewhile(lambda each: len(set(each)) == 1, zip(*words, strict=False)))
    kept = min(same, _KEPT)
    # A "not" that they share belongs to what differs.
    starts = (max(kept, same - shared) for shared in range(_SHARED, -1, -1))
    ways = [[" ".join([*own[:kept], *["…"] * (start > kept), *own[start:]]) for own in words] for start in starts]
    best = max(ways, key=lambda way: len({_cut(text, room) for text in way}))
    return dict(zip(texts, best, strict=True))


def _cut(text: str, room: int) -> str:
    return text[: max(room - 1, 0)]


def gauge(rule: Rule, width: int) -> Content:
    """A bar of ``width`` cells: what share of things is in the place that a rule tells to try first, and in the next one; for
    other rules the share of supporting evidence, where contradicting evidence always shows."""
    if location := location_of(rule):
        shares = [each.share for each in location.likeliest[:2]]
        # Of a home they are shares of days, so together they may be more than all.
        first, second = (min(width, round(sum(shares[:place]) * width)) for place in (1, 2))
        bar = (FOR * first, "$won"), (MAYBE * (second - first), "$goal"), (LINE * (width - second), "$frame")
        return Content.assemble(*bar)
    evidence = rule.evidence
    if not evidence:
        return Content(" " * width)
    share = evidence.supports / (evidence.supports + evidence.contradicts)
    held = min(width - bool(evidence.contradicts), max(bool(evidence.supports), round(share * width)))
    return Content.assemble((FOR * held, "$won"), (AGAINST * (width - held), "$fault"))


def _differing(found: RuleDifference, told: str, width: int, ids: int) -> Content:
    mark, style = ("+", "$won") if found.other is None else ("−", "$fault") if found.one is None else ("≠", "$new")
    rule = found.one or found.other
    said = flat(rule.statement) if rule else ""
    return Content.assemble((f" {mark} ", f"bold {style}"), f"{flat(found.id):<{ids}}  ", (f"{told:<{width}}  ", style), said)


def _row(rule: Rule, said: str, marked: bool, numbers: int, worth: int, kinds: bool) -> Content:
    style, measured = STANDING_STYLES[rule.standing], rule.measured
    steps = f"{measured.steps.value:+.1f}{'!' if measured.costs else ' '}" if measured else ""
    return Content.assemble(
        ("▪ " if marked else "  ", "$goal"),
        (f"{GLYPHS[rule.status]} ", _STYLES[rule.status]),
        (f"{STANDING_MARKS[rule.standing]} ", style),
        gauge(rule, _GAUGE),
        (f" {figures(rule.evidence):>{numbers}}", style),
        (f"{steps:>{worth}}", _worth_style(measured)),
        (f"  {rule.kind or '-':<{_KIND - 2}}" if kinds else "", "$quiet"),
        "  ",
        (said, "$quiet" if rule.status == "rejected" else ""),
    )


def _worth_style(worth: Worth | None) -> str:
    return "$quiet" if worth is None else "bold $fault" if worth.costs else "$won" if worth.pays else "$quiet"


class RuleView(Equipped, Vertical):
    """Shows a rule. ``look_up`` finds its witnesses, and opening one posts ``Opened``."""

    @dataclass
    class Opened(Message):
        """A witness of ``rule`` was opened."""

        rule: Rule
        witness: Witness

    def __init__(self, look_up: FindWitnesses, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._look_up = look_up
        self.rule: Rule | None = None
        self._around: tuple[tuple[Rule, ...], CountedHere | None, str] = ((), None, "")
        self._witnesses: tuple[Witness, ...] = ()

    def compose(self) -> ComposeResult:
        yield VerticalScroll(Static())
        witnesses = FramedList()
        witnesses.border_title = "Witnesses"
        yield witnesses

    def show(
        self, rule: Rule | None, contraries: Sequence[Rule] = (), here: CountedHere | None = None, nothing: str = ""
    ) -> None:
        """Show ``rule``, the rules that contradict it, and what was counted ``here``; without a rule, show ``nothing``."""
        around, before = (tuple(contraries), here, nothing), self.rule
        if (rule, around) == (before, self._around):
            return
        other = rule is None or before is None or (rule.id, rule.evidence) != (before.id, before.evidence)
        self.rule, self._around = rule, around
        self._draw()
        if other:
            self.query_one(VerticalScroll).scroll_home(animate=False)
            self._look()

    @on(events.Resize)
    def _draw(self) -> None:
        rule, (contraries, here, nothing) = self.rule, self._around
        self.query_one(VerticalScroll).border_title = Content(flat(rule.id) if rule else "Rule")
        width = max(20, self.size.width - 5)
        lines = _lines(rule, contraries, here, width) if rule else [Content.styled(nothing, "$quiet")]
        self.query_one(Static).update(Content("\n").join(lines))

    def _look(self) -> None:
        self._witnesses = ()
        self._list.clear_options()
        self._list.border_subtitle = Content("")
        if (rule := self.rule) and (rule.evidence.witnesses or rule.evidence.against):
            self._read(rule.evidence)
        elif rule:
            self._say(_UNNAMED if rule.evidence else "none named")

    @work(group="witnesses", exclusive=True)
    async def _read(self, evidence: Evidence) -> None:
        try:
            found = self._witnesses = await self._look_up((*evidence.witnesses, *evidence.against))
        except (HousequestError, OSError) as error:
            self._say(f"The witnesses cannot be read: {error}")
            return
        sides = [("for      ", "$won")] * len(evidence.witnesses) + [("against  ", "$fault")] * len(evidence.against)
        options = [Option(_witnessed(witness, side)) for witness, side in zip(found, sides, strict=True)]
        self._list.set_options(options)
        self._list.highlighted = 0 if options else None

    def _say(self, text: str) -> None:
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
        if self.rule and message.option_index < len(self._witnesses):
            self.post_message(self.Opened(self.rule, self._witnesses[message.option_index]))

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)


class RulePair(Equipped, Horizontal, keys="rule_pair"):
    """Shows two rules side by side; left and right move the focus between them."""

    def __init__(self, look_up: FindWitnesses, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._sides = (RuleView(look_up), RuleView(look_up))
        self._at = 0

    def compose(self) -> ComposeResult:
        yield from self._sides

    def show(self, *two: Rule | None, names: tuple[str, str] = ("", "")) -> None:
        """Show two rules; for one that is missing, that the book of that name has none."""
        for side, rule, name in zip(self._sides, two, names, strict=True):
            side.show(rule, nothing=f"It is not in {name}.")

    @property
    def rules(self) -> tuple[Rule | None, Rule | None]:
        return self._sides[0].rule, self._sides[1].rule

    @property
    def by_focus(self) -> tuple[Rule | None, Rule | None]:
        """The rule that has the focus, and the one beside it."""
        return self._sides[self._at].rule, self._sides[1 - self._at].rule

    def action_side(self, side: int) -> None:
        self._sides[side].query_one(OptionList).focus()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        for place, view in enumerate(self._sides):
            has = event.widget in view.walk_children()
            self._at = place if has else self._at
            view.set_class(has, "-chosen")


def _lines(rule: Rule, contraries: Sequence[Rule], here: CountedHere | None, width: int) -> Iterator[Content]:
    yield Content.styled(printable(rule.statement), "bold")
    home = "about one household" if rule.scope == "household" else ""
    status = f"{GLYPHS[rule.status]} {status_of(rule)}"
    yield Content.styled(flat(" · ".join(filter(None, (status, rule.kind, home)))), "$quiet")
    yield from _evidence(rule, width)
    for name, text in (
        ("tasks", ", ".join(rule.types)),
        ("things", ", ".join(rule.objects)),
        ("check", str(rule.check or "")),
    ):
        if text:
            yield from labelled(name, Content(flat(text)), width, LABEL)
    if here is not None:
        yield from labelled("here", _counted(here), width, LABEL)
    if worth := rule.measured:
        verdict = "it costs" if worth.costs else "it pays" if worth.pays else "it makes no sure difference"
        told = Content.assemble((f"{worth}", f"bold {_worth_style(worth)}"), f"  {verdict}, in {plural(worth.games, 'game')}")
        yield from labelled("worth", told, width, LABEL)
    for other in contraries:
        yield Content.assemble(("⇄ contradicts  ", "$fault"), (f"{flat(other.id)}: ", "bold"), flat(other.statement))
    for name, line in zip_longest(("story",), story_lines(rule), fillvalue=""):
        yield from labelled(name, Content.styled(flat(line), "$quiet"), width, LABEL)


def _evidence(rule: Rule, width: int) -> list[Content]:
    """The evidence of ``rule`` in lines of about ``width`` columns, with the 95 % interval where that decides."""
    evidence, standing, location = rule.evidence, rule.standing, location_of(rule)
    if location:
        return [*labelled("evidence", _leading(rule, location), width, LABEL), *_distribution(location, width)]
    if not evidence:
        told = "none counted; v checks it." if rule.check else "none counted: it has no check; e adds one."
        return labelled("evidence", Content.styled(told, "$quiet"), width, LABEL)
    cells = max(8, min(24, width - LABEL - 2))
    trials = evidence.supports + evidence.contradicts
    verdict = Content.assemble((f"{STANDING_MARKS[standing]} {standing}", f"bold {STANDING_STYLES[standing]}"))
    counts = f"  {evidence.supports:,} for · {evidence.contradicts:,} against"
    lines = labelled("evidence", verdict + Content(counts), width, LABEL)
    bar = gauge(rule, cells)
    if rule.kind not in USUAL:
        why = "" if not evidence.contradicts else "  one is enough"
        return [*lines, Content.assemble(" " * (LABEL + 2), bar, (why, "$quiet"))]
    ends = wilson(evidence.supports, trials)
    share = f"  {percentage(evidence.supports / trials)} %"
    interval = f"  {percentage(ends.low)}-{percentage(ends.high)} % ({MIDDLE} half)"
    scale = [LINE] * cells
    scale[cells // 2] = MIDDLE
    low, high = (min(cells - 1, int(rate * cells)) for rate in (ends.low, ends.high))
    for cell in range(low, high + 1):
        scale[cell] = FOR if scale[cell] == LINE else "┿"
    drawn = Content.assemble(*((each, "$frame" if each in {LINE, MIDDLE} else STANDING_STYLES[standing]) for each in scale))
    return [
        *lines,
        Content.assemble(" " * (LABEL + 2), bar, (share, "")),
        Content.assemble((f"{'95 %':<{LABEL}}  ", "$quiet"), drawn, (interval, "$quiet")),
    ]


def _leading(rule: Rule, location: Location) -> Content:
    """The verdict whether the place to try first is the likeliest."""
    first, *others = (each.receptacle for each in location.likeliest)
    verdict = Content.styled(f"{STANDING_MARKS[rule.standing]} {rule.standing}", f"bold {STANDING_STYLES[rule.standing]}")
    if not rule.evidence:
        return Content.styled("these shares were not counted here", "$quiet")
    if not others or location.leads:
        return verdict + Content(f"  {first} is the likeliest, of {location.number:,} counted")
    return verdict + Content(f"  {first} or {others[0]} may be the likeliest, of {location.number:,} counted")


def _distribution(location: Location, width: int) -> Iterator[Content]:
    """A bar for each place: its share to the lower end of the 95 % interval, and in another line style on to the upper end."""
    column = max(LABEL, *(len(each.receptacle) for each in location.likeliest))
    cells = max(3, min(24, width - column - (38 if location.likeliest[0].looks else 20)))
    for place in location.likeliest:
        low, high = round(place.interval.low * cells), max(1, round(place.interval.high * cells))
        bar = (FOR * low, "$won"), (MAYBE * (high - low), "$won"), (LINE * (cells - high), "$frame")
        told = f"  {percentage(place.share)} %, {percentage(place.interval.low)} to {percentage(place.interval.high)}"
        told += f", {place.seen} of {plural(place.looks, 'day')}" if place.looks else ""
        yield Content.assemble((f"{flat(place.receptacle):<{column}}  ", "$quiet"), *bar, told)
    rest = 0 if location.likeliest[0].looks else 1 - sum(each.share for each in location.likeliest)
    if rest >= 0.01:
        yield Content.styled(f"{'others':<{column}}  {' ' * cells}  {percentage(rest)} %", "$quiet")


def _counted(here: CountedHere) -> Content:
    if isinstance(here, Location):
        return Content(f"seen in {here}")
    verdict = Content.styled(f"{STANDING_MARKS[here.standing]} {here.standing}", f"bold {STANDING_STYLES[here.standing]}")
    counts = Content(f"  {here.evidence.supports:,} for · {here.evidence.contradicts:,} against")
    return verdict + counts + Content.styled("; V takes these counts instead", "$quiet")


def _witnessed(witness: Witness, side: tuple[str, str]) -> Content:
    if isinstance(witness, FoundWitness):
        return Content.assemble(side, "> ", flat(witness.command), (f"  {flat(witness.observation)}", "$quiet"))
    return Content.assemble(side, (f"not on disk  {flat(witness.origin)}", "$quiet"))
