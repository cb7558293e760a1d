"""The rules of a book, one on each line: marked or not, status, evidence, statement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from textual import on
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from knowledge.rules import Rule, RuleStatus
from tui.desk.evidence import glance
from tui.desk.rule_text import figures
from tui.widgets.lines import flat

GLYPHS: dict[RuleStatus, str] = {"accepted": "✓", "candidate": "·", "rejected": "×"}
"""A character for each status."""
_STYLES: dict[RuleStatus, str] = {"accepted": "$won", "candidate": "$new", "rejected": "$quiet"}

BROAD = 84
"""Columns from which on a line also says the kind."""


class RuleList(OptionList):
    """Shows rules. Posts ``Looked`` when another rule is highlighted, ``Entered`` on Enter."""

    DEFAULT_CSS = """
    RuleList {
        border: round $frame; padding: 0 1; background: transparent; scrollbar-size-vertical: 1;
        scrollbar-color: $frame; scrollbar-background: $background;
        border-title-color: $quiet; border-subtitle-color: $quiet; text-wrap: nowrap; text-overflow: ellipsis;
        &:focus { border: round $foreground; border-title-color: $foreground; background-tint: transparent; }
        & > .option-list--option-highlighted, &:focus > .option-list--option-highlighted {
            background: $panel; color: $foreground; text-style: bold;
        }
    }
    """

    @dataclass
    class Looked(Message):
        """Another rule is highlighted."""

        name: str

    class Entered(Message):
        """The rule's witnesses should get the focus."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._rules: tuple[Rule, ...] = ()
        self._marked: frozenset[str] = frozenset()
        self.border_title = Content("Rules")
        self.border_subtitle = Content("  ".join(f"{glyph} {status}" for status, glyph in GLYPHS.items()))

    def show(self, rules: Sequence[Rule], looked: Rule | None, marked: Collection[str]) -> None:
        """Show ``rules`` with ``looked`` highlighted; nothing is posted."""
        self._rules, self._marked = tuple(rules), frozenset(marked)
        self._fill(looked)

    def on_resize(self) -> None:
        at = self.highlighted
        self._fill(self._rules[at] if at is not None and at < len(self._rules) else None)

    def _fill(self, looked: Rule | None) -> None:
        numbers = max((len(figures(rule.evidence)) for rule in self._rules), default=1)
        kinds = self.size.width >= BROAD
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(Option(_row(rule, rule.id in self._marked, numbers, kinds)) for rule in self._rules)
            self.highlighted = self._rules.index(looked) if looked in self._rules else None

    @on(OptionList.OptionHighlighted)
    def _moved(self, message: OptionList.OptionHighlighted) -> None:
        message.stop()
        if message.option_index < len(self._rules):
            self.post_message(self.Looked(self._rules[message.option_index].id))

    @on(OptionList.OptionSelected)
    def _entered(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        self.post_message(self.Entered())


def _row(rule: Rule, marked: bool, numbers: int, kinds: bool) -> Content:
    return Content.assemble(
        ("▪ " if marked else "  ", "$goal"),
        (f"{GLYPHS[rule.status]} ", _STYLES[rule.status]),
        glance(rule.evidence, rule.standing, numbers),
        (f"  {rule.kind or '-':<10}" if kinds else "", "$quiet"),
        "  ",
        (flat(rule.statement), "$quiet" if rule.status == "rejected" else ""),
    )
