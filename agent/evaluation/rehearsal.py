"""A rehearsal of play with a model: turns of a real episode with an agent's own prompts, and what the model's server keeps.

What is learned on the way of how the model wants to be asked is kept for the next day, so that play and eval begin with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import NamedTuple

from housequest.agent.episodes.events import CallTiming, Ended, Event, ModelCall, ParseFailed
from housequest.agent.episodes.loop import run_episode
from housequest.agent.models.base import (
    BriefReader,
    Completion,
    Learning,
    Message,
    Model,
    ModelWrapper,
    Request,
    ability,
    context_left,
    in_role,
    roles_of,
    unwatched,
)
from housequest.agent.setup import Setup
from housequest.worlds.base import Task
from housequest.worlds.errors import HousequestError, ModelError

TURNS = 2
_SIZES = (1_000, 2_000, 4_000, 8_000, 16_000)
"""Tokens of the prompts that show how much of one is kept, about; a game of 50 turns takes up to half of the last."""
_LEAST = 2_000
"""Tokens of a prompt that a game of some turns needs."""
_LINE = "Line {}: the drawer is closed, and the mug stands on the shelf.\n"
_TOKENS_A_LINE = 18
_PASSWORD = "axolotl"
_GROWS = 0.5
"""The share of the expected growth of a prompt, by the model's count, below which the prompt was cut."""


class Pass(NamedTuple):
    """The turns as they were played once: with replies in pieces (``attended``) or whole."""

    attended: bool
    calls: tuple[ModelCall, ...]
    unreadable: tuple[str, ...]
    seconds: float
    wrong: str

    @property
    def way(self) -> str:
        """The name of this pass."""
        return "in pieces" if self.attended else "whole"

    @property
    def fault(self) -> str:
        """Why play would fail in this way; "" if it would not."""
        if self.wrong or not self.calls or len(self.unreadable) < len(self.calls):
            return self.wrong
        begun = " ".join(self.calls[0].reply.split())[:60] or "(an empty reply)"
        none = f"None of its {len(self.calls)} replies could be read: {self.unreadable[0]} The first began: {begun}."
        return f"{none} Take a larger model, or one that was tuned for chats."

    @property
    def words(self) -> str:
        """The calls, their tokens and their time, in words."""
        read = sum(call.prompt_tokens or 0 for call in self.calls)
        written = sum(call.completion_tokens or 0 for call in self.calls)
        thought = sum(call.thinking_tokens or 0 for call in self.calls)
        told = f" ({thought:,} of them thinking)" if thought else ""
        # No prompt is empty: a server that counts 0 does not count.
        counted = all(call.prompt_tokens and call.completion_tokens is not None for call in self.calls)
        tokens = f"{read:,} tokens read, {written:,} written{told}" if counted else "tokens not counted"
        calls = f"{len(self.calls)} call{'s' * (len(self.calls) != 1)}"
        return f"{calls}, {tokens}, {self.seconds / max(1, len(self.calls)):.2f} s a call, {len(self.unreadable)} unreadable"


class Rehearsal(NamedTuple):
    """The result: ``passes``, what was ``learned``, how much ``context`` is kept, and whether equal calls are ``alike``."""

    passes: tuple[Pass, ...]
    learned: tuple[str, ...]
    context: str
    alike: bool | None
    faults: tuple[str, ...]
    """Why play would fail, and what to change."""


class _Heard(ModelWrapper):
    """Keeps what it is asked first, and what it replies."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.first: tuple[Request, Completion] | None = None

    async def complete(self, request: Request) -> Completion:
        completion = await self.model.complete(request)
        self.first = self.first or (request, completion)
        return completion


async def rehearse(setup: Setup, task: Task) -> Rehearsal:
    """Play ``task`` for two turns, with replies whole and in pieces, and then try the model's context.

    Raises ``ConfigurationError`` and ``Unsupported``.
    """
    assert setup.model is not None
    passes: list[Pass] = []
    alike, context, small, learned = None, "", "", ()
    for attended in (False, True):
        made = setup.make_model(watch=unwatched if attended else None)
        assert made is not None
        async with aclosing(made) as model:
            every = (in_role(model, role) for role in ("", *roles_of(model)))
            learning = [found for each in every if (found := ability(each, Learning)) is not None]
            for each in learning if not passes else ():
                each.forget_learned()
            heard = _Heard(model)
            passes.append(await _played(setup, task, heard, attended=attended))
            if unasked := sorted({*roles_of(model)} - {call.role for call in passes[-1].calls}):
                passes[-1] = passes[-1]._replace(wrong=passes[-1].wrong or await _asked_for(model, unasked))
            if alike is None and not passes[-1].wrong and heard.first is not None:
                alike = (await model.complete(heard.first[0])).text == heard.first[1].text
                context, small = ("", "") if ability(model, BriefReader) else await _kept(model)
            learned = tuple(dict.fromkeys(words for each in learning for words in each.learned()))
            for each in learning:
                each.keep_learned()
    ways = {each.fault: " and ".join(other.way for other in passes if other.fault == each.fault) for each in passes}
    faults = [f"{way}: {fault}" for fault, way in ways.items() if fault]
    if small:
        faults.append(f"{small}: start the server with a larger context. It {context.rstrip('.')}.")
    return Rehearsal(tuple(passes), learned, context, alike, tuple(faults))


async def _played(setup: Setup, task: Task, model: Model, *, attended: bool) -> Pass:
    calls: list[ModelCall] = []
    unreadable: list[str] = []
    seconds, wrong = 0.0, ""

    def listen(event: Event | CallTiming) -> None:
        nonlocal seconds, wrong
        if isinstance(event, CallTiming):
            seconds += event.seconds
            return
        match event.body:
            case ModelCall() as call:
                calls.append(call)
            case ParseFailed(reason=reason):
                unreadable.append(reason)
            case Ended(outcome="error", message=message, reason=reason):
                wrong = message or reason
            case _:
                pass

    try:
        await setup.check_model(model)
        env = setup.open(task)
        try:
            await run_episode(env, setup.make_agent(model), replace(setup, max_turns=TURNS), listen)
        finally:
            env.close()
    except ModelError as error:
        wrong = str(error)
    return Pass(attended, tuple(calls), tuple(unreadable), seconds, wrong)


async def _asked_for(model: Model, roles: Sequence[str]) -> str:
    """Why one of ``roles``, which these turns did not need, would fail; "" if none would."""
    said = [Message("system", "You help a robot in a household."), Message("user", "Are you there? Say yes or no.")]
    for role in roles:
        try:
            await in_role(model, role).complete(Request(said, stop=("\n\n",), max_tokens=64, seed=0))
        except ModelError as error:
            return f"As the {role}: {error}"
    return ""


async def _kept(model: Model) -> tuple[str, str]:
    """Find out how much of a prompt the model's server keeps, by its own tokenizer or by a word before a long text; and what
    that does to play, if it is a fault."""
    try:
        room = await context_left(model, [Message("user", _PASSWORD)])
        if room is not None:
            return f"has a context of some {room:,} tokens, as it says itself", ""
        found, before = await _asked(model, 0)
    except HousequestError as error:
        return f"was not tried: {error}", ""
    if not found:
        return "was not tried: it does not find a word in a short prompt", ""
    for size, last in zip(_SIZES, (0, *_SIZES), strict=False):
        kept = f"keeps about {last:,} tokens of a prompt"
        try:
            found, tokens = await _asked(model, size)
        except HousequestError as error:
            too_long = isinstance(error, ModelError) and error.overflow
            what = "refuses longer ones" if too_long else f"a prompt of some {size:,} tokens was refused: {error}"
            return f"{kept}, and {what}", "Episodes would end after some turns" if last < _LEAST else ""
        # Some count without what a cache served, so a word that is found says more than a count.
        if found:
            before = tokens
            continue
        if tokens is None or before is None:
            return f"{kept}; of a longer one it did not find the beginning, which may be cut: tokens are not counted", ""
        if tokens - before < _GROWS * (size - last):
            return f"{kept}, and cuts longer ones in silence", "Long episodes lose their beginning unnoticed"
        return f"counts {tokens:,} tokens of a prompt and does not find a word at its beginning", ""
    return f"keeps at least {_SIZES[-1]:,} tokens of a prompt", ""


async def _asked(model: Model, size: int) -> tuple[bool, int | None]:
    """Ask for a word that stands before ``size`` tokens. Returns whether it is found, and the tokens that the model counts."""
    filler = "".join(_LINE.format(number) for number in range(size // _TOKENS_A_LINE))
    text = f"The password is {_PASSWORD}.\n{filler}\nWhat is the password? Answer with that word alone."
    request = Request([Message("user", text)], max_tokens=64)
    try:
        completion = await model.complete(request)
    except ModelError as error:
        if error.overflow or error.fatal:
            raise
        completion = await model.complete(request)  # it may have been a fault that is over
    return _PASSWORD in completion.text.lower(), completion.usage.prompt
