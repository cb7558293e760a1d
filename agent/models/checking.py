"""Checks with real calls that a model keeps its contract (`housequest.agent.models.base`) and has its abilities."""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from housequest.agent.models.base import ABILITIES, BriefReader, Completion, Local, Message, Model, Request, ability, score
from housequest.agent.models.forms import Choice, grammar_of
from housequest.agent.models.openai.model import PROBE_TOKENS, names_colours, picture_question, spells
from housequest.worlds.errors import HousequestError, Unsupported

_BRIEF = (
    "Goal: put a mug in cabinet.\nPlaces: cabinet coffeemachine countertop diningtable drawer fridge garbagecan microwave "
    "sinkbasin stoveburner toaster\nRule: A mug is usually in the sinkbasin.\n"
    "Hint: have a look at the countertop first."
)
_CHOICES = ("ready", "not ready")
_SCHEMA = {"type": "object", "properties": {"ready": {"type": "boolean"}}, "required": ["ready"], "additionalProperties": False}
_ENDED = 10.0
_SHORTEST_SECRET = 16

_ABILITIES = {
    "completions": "completions of plain text",
    "log_probabilities": "log-probabilities",
    "choices": "choice among texts",
    "schema": "JSON by a schema",
    "grammar": "text by a grammar",
    "bias": "bias on words",
    "images": "images",
    "scoring": "exact scores of texts",
}
"""The name of each capability in the report."""

_PLURAL = {"log_probabilities", "choices", "images"}


class Finding(NamedTuple):
    """The result of checking one ability or demand, with the evidence."""

    what: str
    works: bool
    seen: str


@dataclass(frozen=True, slots=True)
class ModelReport:
    """The results of checking a model.

    Args:
        reply: A plain reply.
        abilities: What the model offers, with evidence.
        demands: The demands on every model.
        has: The optional protocols that it fulfils (`housequest.agent.models.base.ABILITIES`).
        runtime: The runtime of a local model.
    """

    reply: Completion
    abilities: tuple[Finding, ...]
    demands: tuple[Finding, ...]
    has: tuple[type[Any], ...] = ()
    runtime: str = ""

    @property
    def broken(self) -> tuple[str, ...]:
        """The demands that are not met."""
        return tuple(f"{one.what}: {one.seen}" for one in self.demands if not one.works)


async def check_model(model: Model) -> ModelReport:
    """Check with about 15 calls that a model keeps its contract and its promises.

    Args:
        model: The model to check.

    Returns:
        The demands that are met and broken, and the abilities with their evidence.

    Raises:
        HousequestError: The first call failed.
    """
    messages = [Message("user", _BRIEF if ability(model, BriefReader) else "Say hello in one word.")]
    plain = Request(messages, max_tokens=64)
    reply = await model.complete(plain)
    again = await model.complete(plain)
    offered = await model.capabilities()
    counted = None not in {reply.usage.prompt, reply.usage.completion}
    cached = again.timing.cached
    alike = "equal" if reply.text == again.text else "different"
    abilities = (
        Finding("tokens counted", counted, "read and written" if counted else "not told"),
        Finding(
            "prefix cache",
            bool(cached),
            "not told" if cached is None else f"{cached} of {again.usage.prompt} tokens of the same prompt were not read again",
        ),
        *[await _tried(needed, getattr(offered, needed), model, messages) for needed in _ABILITIES],
        Finding(
            "deterministic",
            offered.deterministic and alike == "equal",
            f"{'' if offered.deterministic else 'not promised; '}two equal calls had {alike} replies",
        ),
    )
    promised = reply.text if offered.deterministic else None
    demands = (
        _named(model),
        _complete(reply),
        Finding("equal calls have equal replies where the model says so", promised in {None, again.text}, "two were compared"),
        await _met("a stop text ends the reply before it", _stops(model, plain, reply)),
        await _met("many calls may run at once", _at_once(model, plain, promised)),
        await _met("cancelling a call ends it, and the model goes on", _cancels(model, plain)),
        *[await _denied(needed, getattr(offered, needed), model, messages) for needed in _ABILITIES],
    )
    has = tuple(protocol for protocol in ABILITIES if ability(model, protocol) is not None)
    local = ability(model, Local)
    return ModelReport(reply, abilities, demands, has, "" if local is None else await local.runtime())


async def _met(what: str, trial: Awaitable[str]) -> Finding:
    try:
        wrong = await trial
    except HousequestError as error:
        wrong = f"it failed: {error}"
    except Exception as error:  # noqa: BLE001 (any error of the model is a finding)
        wrong = f"it raised {type(error).__name__} ({error}); raise ModelError when the model fails"
    return Finding(what, not wrong, wrong or "yes")


def _named(model: Model) -> Finding:
    secrets = [
        value
        for key, value in os.environ.items()
        if any(word in key.upper() for word in ("KEY", "TOKEN", "SECRET", "PASSWORD")) and len(value) >= _SHORTEST_SECRET
    ]
    leaks = any(secret in text for secret in secrets for text in (model.name, repr(model)))
    wrong = (
        "it holds a key of the environment" if leaks else "" if model.name.isprintable() and model.name else "it is not text"
    )
    return Finding("the name is printable text without a secret", not wrong, wrong or model.name)


def _complete(reply: Completion) -> Finding:
    counts = (reply.usage.prompt, reply.usage.completion)
    good = bool(reply.finish) and all(type(count) is int and count >= 0 for count in counts if count is not None)
    return Finding("a reply says why it ended, and counts tokens or says None", good, f"{reply.finish}, {reply.usage}")


async def _stops(model: Model, plain: Request, reply: Completion) -> str:
    word = next((word for word in reply.text.split()[1:] if word.isascii()), "")
    text = (await model.complete(replace(plain, stop=(word,)))).text if word else ""
    return f"{word!r} stands in {text!r}" if word and word in text else ""


async def _at_once(model: Model, plain: Request, promised: str | None) -> str:
    replies = await asyncio.gather(*(model.complete(plain) for _ in range(4)))
    alike = promised is None or all(reply.text == promised for reply in replies)
    return "" if alike else "their replies differ from that of a call alone, in a model that says it is deterministic"


async def _cancels(model: Model, plain: Request) -> str:
    call = asyncio.ensure_future(model.complete(plain))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait([call], timeout=_ENDED)
    if not call.done():
        return f"the call ran on for {_ENDED:g} seconds"
    if not call.cancelled() and call.exception() is not None:
        return f"the call raised {call.exception()!r} in place of CancelledError"
    await model.complete(plain)
    return ""


async def _tried(needed: str, offered: bool, model: Model, messages: list[Message]) -> Finding:
    if not offered:
        return Finding(_ABILITIES[needed], False, "not offered")
    try:
        return Finding(_ABILITIES[needed], *await _trial(needed, model, messages))
    except HousequestError as error:
        return Finding(_ABILITIES[needed], False, f"offered, but: {error}")


async def _denied(needed: str, offered: bool, model: Model, messages: list[Message]) -> Finding:
    """Check that a call which needs a missing capability raises ``Unsupported``."""

    async def wrong() -> str:
        if offered:
            return ""
        try:
            await _trial(needed, model, messages)
        except Unsupported:
            return ""
        return "it scored" if needed == "scoring" else "it replied as if nothing had been asked"

    call, are = "score" if needed == "scoring" else "complete", "are" if needed in _PLURAL else "is"
    return await _met(f"{call} raises Unsupported where {needed} {are} denied", wrong())


async def _trial(needed: str, model: Model, messages: list[Message]) -> tuple[bool, str]:
    """Try a call that needs this capability; return success and the evidence."""
    if needed == "scoring":
        scores = (await score(model, messages, _CHOICES)).logprobs
        seen = ", ".join(f"{text!r} {logprob:.2f}" for text, logprob in zip(_CHOICES, scores, strict=False))
        return len(scores) == len(_CHOICES) and all(map(math.isfinite, scores)), seen
    requests = {
        "completions": Request([Message("user", "one two three four five six seven")], max_tokens=8, raw=True),
        "log_probabilities": Request(messages, max_tokens=4, top_logprobs=2),
        "choices": Request(messages, choices=_CHOICES),
        "schema": Request(messages, schema=_SCHEMA, max_tokens=64),
        "grammar": Request(messages, grammar=grammar_of(Choice(_CHOICES)), max_tokens=64),
        "bias": Request(messages, bias={"axolotl": 100.0}, max_tokens=8),
        "images": Request([picture_question()], max_tokens=PROBE_TOKENS),
    }
    reply = await model.complete(requests[needed])
    text, begun = reply.text, f"{reply.text[:40]!r}"
    match needed:
        case "completions":
            return bool(text.strip()), f"it went on with {begun}"
        case "choices":
            return text in _CHOICES, f"it chose {text!r}"
        case "bias":
            return spells(text, "axolotl"), f"pushed towards 'axolotl' it wrote {begun}"
        case "images":
            return names_colours(text), f"of a picture in yellow and red it wrote {begun}"
        case "grammar" | "schema":
            return text in _CHOICES if needed == "grammar" else _has_ready(text), f"it wrote {text[:60]!r}"
        case _:
            likely = reply.tokens[0].alternatives if reply.tokens else ()
            told = ", ".join(f"{token!r} {logprob:.2f}" for token, logprob in likely)
            return bool(likely), f"the first token: {told}" if likely else "no token came with alternatives"


def _has_ready(text: str) -> bool:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "ready" in value
