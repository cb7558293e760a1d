"""The Mind pane: the plan with its current step, the rules shown to the agent, and what its calls have cost."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from housequest.agent.config import Prices
from housequest.agent.evaluation.runs.usage import cost, money
from housequest.agent.setup import HUMAN
from housequest.tui.episode.state import EpisodeMoment, ViewState
from housequest.tui.text import percentage, plural
from housequest.tui.widgets.lines import LinesPane, flat, hung

_DONE, _PRESENT, _COMING = "✓ ", "▸ ", "· "

Block = list[Content]


class MindPane(LinesPane):
    """The mind of an agent. ``prices`` are those of its model, where they are configured.

    ``destinations`` say what goes to another machine, in sentences.
    """

    BORDER_TITLE = "Mind"

    _state = ViewState()

    def __init__(self, prices: Prices | None = None) -> None:
        super().__init__()
        self._prices = prices
        self.destinations: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether a person plays, with no agent and with no rules to read."""
        moment = self._state.moment
        person = moment.started is not None and moment.started.agent == HUMAN
        return person and not (moment.plan or moment.rules or self.destinations)

    def show(self, state: ViewState) -> None:
        self._state = state
        self.relay()

    def lines(self, width: int, height: int, whole: bool) -> Sequence[Content]:
        state = self._state
        if state.moment.started is None:
            return _quiet("The plan, the rules and the cost of thinking stand here.", width)
        plan = _plan(state.moment, width)
        totals = [*_totals(state, self._prices, width), *(line for each in self.destinations for line in _quiet(each, width))]
        rules = _rules(state.moment.rules, width, None if whole else height - len(plan) - len(totals) - 2)
        return [line for block in (plan, rules, totals) if block for line in (Content(""), *block)][1:]


def _plan(moment: EpisodeMoment, width: int) -> Block:
    title = Content.styled("Plan", "bold")
    if not moment.plan:
        assert moment.started is not None
        agent = flat(moment.started.agent)
        unplanned = "yours alone: no agent plays" if agent == HUMAN else f"{agent} goes from turn to turn, without a plan"
        return [title, *_quiet("no plan so far" if moment.started.model else unplanned, width)]
    if moment.revision:
        revised = Content.styled(f"revised {moment.revision}×", "$quiet")
        title = title.pad_right(max(2, width - 4 - revised.cell_length)) + revised
    lines = [title.truncate(width, ellipsis=True)]
    won = moment.ended is not None and moment.ended.outcome == "won"
    for number, step in enumerate(moment.plan):
        mark, style = (
            (_DONE, "$quiet") if won or number < moment.step else (_PRESENT, "bold") if number == moment.step else (_COMING, "")
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


def _totals(state: ViewState, prices: Prices | None, width: int) -> Block:
    totals = state.totals
    if state.model is None:
        agent = flat(state.moment.started.agent) if state.moment.started else ""
        return _quiet(f"{agent}: no model is called", width) if agent != HUMAN else []
    if not totals.calls:
        return _quiet("no call so far", width)
    figures = [f"{plural(totals.calls, 'call')} · {seconds(totals.seconds)}"]
    figures += [f"{plural(totals.images, 'picture')} shown"] if totals.images else []
    if totals.prompt_tokens or totals.completion_tokens:
        share = totals.tokens.cached_share
        cached = f" · {percentage(share)}% cached" if share is not None else ""
        figures += [
            f"{token_text(totals.prompt_tokens)} tokens in{cached}",
            f"{token_text(totals.completion_tokens)} tokens out",
        ]
        if prices is not None:
            paid = f"cost {money(cost(totals.tokens, prices) or 0.0)}"
            figures.append("cost unknown: several models" if len(state.models) > 1 else paid)
    else:
        figures.append("tokens not counted")
    return [line for figure in figures for line in hung(Content(""), Content(figure), width)]


def token_text(number: int) -> str:
    """A number of tokens to two or three digits: 980, 4.1k, 123k, 1.2M."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 100 * size else f"{number // size}{unit}"
    return str(number)


def seconds(number: float) -> str:
    """A time: 1.8 s, 95 s, 12 min."""
    return f"{number:.1f} s" if number < 10 else f"{number:.0f} s" if number < 600 else f"{number / 60:.0f} min"


def _quiet(text: str, width: int) -> Block:
    return hung(Content(""), Content.styled(text, "$quiet"), width)
