"""The Mind: the plan with its present step, the rules consulted at this step, and what thinking came to so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from agent.config import Prices
from agent.evaluation.runs.cost import cost, money
from tui.episode.effort import counted, seconds, tokens
from tui.episode.state import EpisodeMoment, ViewState
from tui.widgets.lines import LinesPane, flat, hung

_DONE, _PRESENT, _COMING = "✓ ", "▸ ", "· "

Block = list[Content]


class MindPane(LinesPane):
    """What goes on in the agent, as far as it says so.

    ``prices`` are those of the model that plays, where its user has configured them.
    """

    BORDER_TITLE = "Mind"

    def __init__(self, prices: Prices | None = None, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._prices = prices
        self._state = ViewState()

    def show(self, state: ViewState) -> None:
        """Show the mind as it is in ``state``."""
        self._state = state
        self.relay()

    def lines(self, width: int, height: int, whole: bool) -> Sequence[Content]:
        state = self._state
        if state.moment.started is None:
            return hung(
                Content(""), Content.styled("The plan, the rules and the cost of thinking stand here.", "$quiet"), width
            )
        plan, effort = _plan(state.moment, width), _effort(state, self._prices, width)
        rules = _rules(state.moment.rules, width, None if whole else height - len(plan) - len(effort) - 2)
        return [line for block in (plan, rules, effort) if block for line in (Content(""), *block)][1:]


def _plan(moment: EpisodeMoment, width: int) -> Block:
    assert moment.started is not None
    if not moment.plan:
        model = moment.started.model
        words = "no plan so far" if model else f"{flat(moment.started.agent)} goes from turn to turn, without a plan"
        return [Content.styled("Plan", "bold"), *hung(Content(""), Content.styled(words, "$quiet"), width)]
    title = Content.styled("Plan", "bold")
    if moment.revision:
        told = Content.styled(f"revised {moment.revision}×", "$quiet")
        title = title.pad_right(max(2, width - 4 - told.cell_length)) + told
    lines = [title.truncate(width, ellipsis=True)]
    for number, step in enumerate(moment.plan):
        mark, style = (
            (_DONE, "$quiet") if number < moment.step else (_PRESENT, "bold") if number == moment.step else (_COMING, "")
        )
        lines += hung(Content.styled(mark, style), Content.styled(flat(step), style), width)
    return lines


def _rules(rules: Sequence[str], width: int, room: int | None) -> Block:
    """The rules; within ``room`` lines, where that is limited, a line for each and how many more there are."""
    if not rules:
        return []
    title = Content.styled("Rules", "bold")
    whole = [line for rule in rules for line in hung(Content.styled(_COMING, "$quiet"), Content(flat(rule)), width)]
    if room is None or len(whole) < room:
        return [title, *whole]
    short = [Content.assemble((_COMING, "$quiet"), flat(rule)).truncate(width, ellipsis=True) for rule in rules]
    kept = len(short) if len(short) < room else max(1, room - 2)
    more = [Content.styled(f"  +{len(rules) - kept} more", "$quiet")] if kept < len(rules) else []
    return [title, *short[:kept], *more]


def _effort(state: ViewState, prices: Prices | None, width: int) -> Block:
    if state.model is None:
        agent = flat(state.moment.started.agent) if state.moment.started else ""
        return hung(Content(""), Content.styled(f"{agent}: no model is called", "$quiet"), width)
    if not state.effort.calls:
        return hung(Content(""), Content.styled("no call so far", "$quiet"), width)
    return [line for part in _figures(state, prices) for line in hung(Content(""), Content(part), width)]


def _figures(state: ViewState, prices: Prices | None) -> Iterator[str]:
    effort = state.effort
    yield f"{effort.calls} call{'' if effort.calls == 1 else 's'} · {seconds(effort.seconds)}"
    if not (effort.prompt_tokens or effort.completion_tokens):
        yield "tokens not counted"
        return
    share = counted(effort).cached_share
    told = f" · {share:.0%} cached" if share is not None else ""
    yield f"{tokens(effort.prompt_tokens)} in{told}"
    yield f"{tokens(effort.completion_tokens)} out"
    if prices is not None:
        spent = cost(counted(effort), prices)
        yield "cost unknown: several models" if len(state.models) > 1 else f"cost {money(spent or 0.0)}"
