"""What a model can do, each ability proved by a real call."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.models.base import Capabilities, Completion, Message, Model, Request
from agent.models.llama.model import LlamaModel
from agent.models.openai.probes import spelt_of
from worlds.errors import HousequestError

_CHAT = "Say hello in one word."
_BRIEF = (
    "Goal: put a mug in cabinet.\nPlaces: cabinet coffeemachine countertop diningtable drawer fridge garbagecan microwave "
    "sinkbasin stoveburner toaster\nRule: A mug is usually in the sinkbasin.\n"
    "Hint: have a look at the countertop first."
)
_CHOICES = ("ready", "not ready")
_SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class CapabilityCheck:
    """One ability: whether it was seen to work, and what was seen."""

    ability: str
    works: bool
    seen: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A model's plain reply, and what it was found to do besides; ``runtime`` is what ran it on this machine, and on what."""

    reply: Completion
    findings: tuple[CapabilityCheck, ...]
    runtime: str = ""


async def prove(model: Model) -> Proof:
    """Ask ``model`` for a reply, and for all that it offers. Raises what the plain call raises."""
    messages = [Message("user", _BRIEF if model.brief else _CHAT)]
    reply = await model.complete(Request(messages, max_tokens=64))
    again = await model.complete(Request(messages, max_tokens=64))
    offered = await model.capabilities()
    findings = [
        _usage(reply),
        _cache(again),
        await _tried("log-probabilities", offered.log_probabilities, lambda: _log_probabilities(model, messages)),
        await _tried("choice among texts", offered.choices, lambda: _choice(model, messages)),
        await _tried("JSON by a schema", offered.schema, lambda: _schema(model, messages)),
        await _tried("bias on words", offered.bias, lambda: _bias(model, messages)),
        await _tried("exact scores of texts", offered.scoring, lambda: _scores(model, messages)),
        _sameness(offered, reply, again),
    ]
    return Proof(reply, tuple(findings), await _runtime(model))


async def _runtime(model: Model) -> str:
    if not isinstance(model, LlamaModel):
        return ""
    ready = await model.ready()
    return f"{ready.runtime} {ready.version}, {ready.device}"


async def _tried(ability: str, offered: bool, trial: Callable[[], Awaitable[tuple[bool, str]]]) -> CapabilityCheck:
    if not offered:
        return CapabilityCheck(ability, False, "not offered")
    try:
        return CapabilityCheck(ability, *await trial())
    except HousequestError as error:
        return CapabilityCheck(ability, False, f"offered, but: {error}")


def _usage(reply: Completion) -> CapabilityCheck:
    counted = None not in {reply.usage.prompt, reply.usage.completion}
    return CapabilityCheck("tokens counted", counted, "read and written" if counted else "not told")


def _cache(again: Completion) -> CapabilityCheck:
    cached = again.timing.cached
    seen = "not told" if cached is None else f"{cached} of {again.usage.prompt} tokens of the same prompt were not read again"
    return CapabilityCheck("prefix cache", bool(cached), seen)


def _sameness(offered: Capabilities, reply: Completion, again: Completion) -> CapabilityCheck:
    alike = reply.text == again.text
    seen = "two equal calls had equal replies" if alike else "two equal calls had different replies"
    return CapabilityCheck(
        "deterministic", offered.deterministic and alike, seen if offered.deterministic else f"not promised; {seen}"
    )


async def _log_probabilities(model: Model, messages: list[Message]) -> tuple[bool, str]:
    tokens = (await model.complete(Request(messages, max_tokens=4, top_logprobs=2))).tokens
    if not tokens or not tokens[0].alternatives:
        return False, "no token came with alternatives"
    told = ", ".join(f"{text!r} {logprob:.2f}" for text, logprob in tokens[0].alternatives)
    return True, f"the first token: {told}"


async def _choice(model: Model, messages: list[Message]) -> tuple[bool, str]:
    text = (await model.complete(Request(messages, choices=_CHOICES))).text
    return text in _CHOICES, f"it chose {text!r}"


async def _schema(model: Model, messages: list[Message]) -> tuple[bool, str]:
    text = (await model.complete(Request(messages, schema=_SCHEMA, max_tokens=64))).text
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    return isinstance(value, dict) and "ready" in value, f"it wrote {text[:60]!r}"


async def _bias(model: Model, messages: list[Message]) -> tuple[bool, str]:
    text = (await model.complete(Request(messages, bias={"axolotl": 100.0}, max_tokens=8))).text
    return spelt_of(text, "axolotl"), f"pushed towards 'axolotl' it wrote {text[:40]!r}"


async def _scores(model: Model, messages: list[Message]) -> tuple[bool, str]:
    scores = (await model.score(messages, _CHOICES)).logprobs
    told = ", ".join(f"{text!r} {score:.2f}" for text, score in zip(_CHOICES, scores, strict=False))
    return len(scores) == len(_CHOICES) and all(math.isfinite(score) for score in scores), told
