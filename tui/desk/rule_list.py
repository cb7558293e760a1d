"""The rules of a book, one on each line: marked or not, status, evidence, statement; and above them, which are shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from housequest.knowledge.rules import Evidence, Rule, RuleStatus, Standing
from housequest.tui.desk.rule_text import STANDING_MARKS, figures
from housequest.tui.desk.state import RuleFilter
from housequest.tui.runs.matrix import short_type
from housequest.tui.widgets.lines import flat
from housequest.tui.widgets.paged_list import PagedList

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
_GAUGE, _KIND = 6, 12
_BEFORE = 9 + _GAUGE
"""Columns of a line before the statement, but for the counts and the kind."""
LONGEST_WORDS = 200
"""Characters of the words that are searched for."""


class FilterBar(Horizontal):
    """Shows a filter, of which the words are typed here, and a key for each other part."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "screen.leave_words", "to the rules"),
        Binding("escape", "screen.clear_words", "all words", key_display="esc"),
    ]
    DEFAULT_CSS = """
    FilterBar {
        height: 1; padding: 0 1;
        & > .label { width: auto; padding-right: 1; }
        & > Input { width: 1fr; min-width: 10; max-width: 32; background: $surface; color: $foreground; }
        & > Input:focus { background: $panel; background-tint: $background 0%; }
        & > #filter-rest { width: auto; padding-left: 2; }
    }
    """

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("f", "bold $goal"), classes="label")
        yield Input(placeholder="words", compact=True, max_length=LONGEST_WORDS, select_on_focus=False)
        yield Static(id="filter-rest")

    def on_mount(self) -> None:
        self.query_one(Input).cursor_blink = False

    def show(self, wanted: RuleFilter) -> None:
        """Show the filter."""
        keys = [
            _key("s", wanted.status or "any status", on=wanted.status is not None),
            _key("k", wanted.kind or "any kind", on=wanted.kind is not None),
            _key("t", short_type(wanted.type) if wanted.type else "any task", on=wanted.type is not None),
            _key("c", "against", on=wanted.contradicted),
        ]
        self.query_one("#filter-rest", Static).update(Content("  ").join(keys))
        # What is being typed is ahead of what has been looked for so far.
        line = self.query_one(Input)
        if line.value != wanted.words and not line.has_focus:
            with self.prevent(Input.Changed):
                line.value = wanted.words


def _key(key: str, word: str, *, on: bool) -> Content:
    return Content.assemble((key, "bold $goal"), " ", (word, "bold $new" if on else "$quiet"))


class RuleList(PagedList):
    """Shows rules; an option's id is its rule's."""

    DEFAULT_CSS = """
    RuleList {
        border: round $frame; padding: 0 1; background: transparent; scrollbar-size-vertical: 1;
        border-title-color: $quiet; border-subtitle-color: $quiet; text-wrap: nowrap; text-overflow: ellipsis;
        &:focus { border: round $foreground; border-title-color: $foreground; background-tint: transparent; }
    }
    """

    BORDER_TITLE = "Rules"
    BORDER_SUBTITLE = "  ".join(f"{glyph} {status}" for status, glyph in GLYPHS.items())

    _rules: tuple[Rule, ...] = ()
    _marked: Collection[str] = ()

    def show(self, rules: Sequence[Rule], looked: Rule | None, marked: Collection[str]) -> None:
        """Show ``rules`` with ``looked`` highlighted; nothing is posted."""
        self._rules, self._marked = tuple(rules), marked
        self._fill(looked)

    def on_resize(self) -> None:
        at = self.highlighted
        self._fill(self._rules[at] if at is not None and at < len(self._rules) else None)

    def _fill(self, looked: Rule | None) -> None:
        numbers = max((len(figures(rule.evidence)) for rule in self._rules), default=1)
        kinds = self.size.width >= BROAD
        room = self.scrollable_content_region.width - numbers - (_BEFORE + _KIND if kinds else _BEFORE)
        said = distinct([flat(rule.statement) for rule in self._rules], room)
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(
                Option(_row(rule, text, rule.id in self._marked, numbers, kinds), rule.id)
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

    def from_word(start: int) -> list[str]:
        return [" ".join([*own[:kept], *(["…"] if start > kept else []), *own[start:]]) for own in words]

    # A "not" that they share belongs to what differs.
    ways = [from_word(max(kept, same - shared)) for shared in range(_SHARED, -1, -1)]
    best = max(ways, key=lambda way: len({_cut(text, room) for text in way}))
    return dict(zip(texts, best, strict=True))


def _cut(text: str, room: int) -> str:
    return text[: max(room - 1, 0)]


def gauge(evidence: Evidence, width: int) -> Content:
    """A bar of ``width`` cells for the share of supporting evidence; contradicting evidence always shows."""
    if not evidence:
        return Content(" " * width)
    share = evidence.supports / (evidence.supports + evidence.contradicts)
    held = min(width - bool(evidence.contradicts), max(bool(evidence.supports), round(share * width)))
    return Content.assemble((FOR * held, "$won"), (AGAINST * (width - held), "$fault"))


def _row(rule: Rule, said: str, marked: bool, numbers: int, kinds: bool) -> Content:
    style = STANDING_STYLES[rule.standing]
    return Content.assemble(
        ("▪ " if marked else "  ", "$goal"),
        (f"{GLYPHS[rule.status]} ", _STYLES[rule.status]),
        (f"{STANDING_MARKS[rule.standing]} ", style),
        gauge(rule.evidence, _GAUGE),
        (f" {figures(rule.evidence):>{numbers}}", style),
        (f"  {rule.kind or '-':<{_KIND - 2}}" if kinds else "", "$quiet"),
        "  ",
        (said, "$quiet" if rule.status == "rejected" else ""),
    )
