"""The evidence of a rule: a bar in a list; in detail also the 95 % interval where that decides."""

from __future__ import annotations

from textual.content import Content

from knowledge.rules import USUAL, Evidence, Rule, Standing
from knowledge.statistics import wilson
from tui.desk.rule_text import STANDING_MARKS, figures
from tui.widgets.lines import hung

FOR, AGAINST, LINE, MIDDLE = "━", "╌", "─", "┼"
STYLES: dict[Standing, str] = {"supported": "$won", "contradicted": "$fault", "undecided": "$quiet"}
LABEL = 8
"""Columns of the words before a bar."""


def gauge(evidence: Evidence, width: int) -> Content:
    """A bar of ``width`` cells for the share of supporting evidence; contradicting evidence always shows."""
    if not evidence:
        return Content(" " * width)
    share = evidence.supports / (evidence.supports + evidence.contradicts)
    held = min(width - bool(evidence.contradicts), max(bool(evidence.supports), round(share * width)))
    return Content.assemble((FOR * held, "$won"), (AGAINST * (width - held), "$fault"))


def glance(evidence: Evidence, standing: Standing, width: int) -> Content:
    """A mark for the rule's standing, a bar, and the counts in ``width`` columns."""
    numbers = f"{figures(evidence):>{width}}"
    return Content.assemble(
        (f"{STANDING_MARKS[standing]} ", STYLES[standing]), gauge(evidence, 6), (f" {numbers}", STYLES[standing])
    )


def in_full(rule: Rule, width: int) -> list[Content]:
    """The evidence of ``rule`` in lines of about ``width`` columns, with the 95 % interval where that decides."""
    evidence, standing = rule.evidence, rule.standing
    if not evidence:
        told = "none counted; v checks it." if rule.check else "none counted; e gives it a check that can be."
        return hung(Content.styled(f"{'evidence':<{LABEL}}  ", "$quiet"), Content.styled(told, "$quiet"), width)
    cells = max(8, min(24, width - LABEL - 2))
    trials = evidence.supports + evidence.contradicts
    verdict = Content.assemble((f"{STANDING_MARKS[standing]} {standing}", f"bold {STYLES[standing]}"))
    counts = f"  {evidence.supports:,} for · {evidence.contradicts:,} against"
    lines = hung(Content.styled(f"{'evidence':<{LABEL}}  ", "$quiet"), verdict + Content(counts), width)
    bar = gauge(evidence, cells)
    if rule.kind not in USUAL:
        why = "" if not evidence.contradicts else "  one is enough"
        return [*lines, Content.assemble(" " * (LABEL + 2), bar, (why, "$quiet"))]
    ends = wilson(evidence.supports, trials)
    share = f"  {100 * evidence.supports / trials:.0f} %"
    interval = f"  {100 * ends.low:.0f}-{100 * ends.high:.0f} % ({MIDDLE} half)"
    scale = [LINE] * cells
    scale[cells // 2] = MIDDLE
    for cell in range(_cell(ends.low, cells), _cell(ends.high, cells) + 1):
        scale[cell] = FOR if scale[cell] == LINE else "┿"
    drawn = Content.assemble(*((each, "$frame" if each in {LINE, MIDDLE} else STYLES[standing]) for each in scale))
    return [
        *lines,
        Content.assemble(" " * (LABEL + 2), bar, (share, "")),
        Content.assemble((f"{'95 %':<{LABEL}}  ", "$quiet"), drawn, (interval, "$quiet")),
    ]


def _cell(rate: float, cells: int) -> int:
    return min(cells - 1, int(rate * cells))
