"""Two rules side by side, each with its witnesses, of which one has the keys: for rules that cannot both be true."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal

from knowledge.rules import Rule
from tui.desk.rule_view import FindWitnesses, RuleView


class RulePair(Horizontal):
    """Shows two rules; left and right go from the one to the other."""

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
        """The two."""
        yield from self._sides

    def show(self, one: Rule, other: Rule) -> None:
        """Show the rules beside each other."""
        self._sides[0].show(one)
        self._sides[1].show(other)

    @property
    def rules(self) -> tuple[Rule | None, Rule | None]:
        """The two, from left to right."""
        return self._sides[0].rule, self._sides[1].rule

    @property
    def rule(self) -> Rule | None:
        """The rule that has the keys."""
        return self._sides[self._at].rule

    @property
    def other(self) -> Rule | None:
        """The one beside it."""
        return self._sides[1 - self._at].rule

    def action_side(self, side: int) -> None:
        """Give the keys to one of the two."""
        self._sides[side].focus_witnesses()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Mark the one that has the keys."""
        for place, view in enumerate(self._sides):
            has = event.widget in view.walk_children()
            self._at = place if has else self._at
            view.set_class(has, "-chosen")
