"""The calls that learning made, on disk with prompts and replies: a call that was answered is never made again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from agent.config import Prices
from agent.episodes.events import Message as Said
from agent.episodes.record import cut_off_end
from agent.evaluation.runs.budget import Spending
from agent.evaluation.runs.cost import Tokens, cost
from agent.evaluation.runs.folder import parsed, read
from agent.models.base import Bias, Capabilities, Completion, Message, Model, Scores, Usage
from agent.roles.base import clean

LARGEST = 1 << 30


class Call(BaseModel):
    """One answered call. ``key`` is the digest of the model's name, the messages and how it was asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    role: str
    messages: tuple[Said, ...]
    reply: str
    finish: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def completion(self) -> Completion:
        """The answer, as the model gave it."""
        return Completion(self.reply, self.finish, Usage(self.prompt_tokens, self.completion_tokens))


class Ledger:
    """The calls in the file ``path``, one JSON line each, and those that are added to it.

    Each is written as soon as it is answered, so that a process that is killed loses the calls in flight and no other. Raises
    ``ConfigurationError`` naming the line of a damaged one.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        cut_off_end(path)
        content = read(path, LARGEST) if path.exists() else b""
        lines = enumerate(content.split(b"\n")[:-1], start=1)
        calls = (parsed(Call, line, f"{path}:{number}") for number, line in lines)
        self._calls = {call.key: call for call in calls}

    def __len__(self) -> int:
        return len(self._calls)

    def find(self, key: str) -> Call | None:
        """The call of this key, if it was answered before."""
        return self._calls.get(key)

    def add(self, call: Call) -> None:
        """Keep an answered call."""
        with self._path.open("ab") as file:
            file.write(f"{call.model_dump_json(exclude_none=True)}\n".encode())
        self._calls[call.key] = call

    def used(self, prices: Prices | None = None) -> Spending:
        """What all its calls have used."""
        calls = self._calls.values()
        tokens = Tokens(sum(call.prompt_tokens or 0 for call in calls), sum(call.completion_tokens or 0 for call in calls))
        return Spending(len(calls), tokens, (cost(tokens, prices) or 0.0) if prices is not None else None)


class RememberedModel:
    """``model``, asked as ``role``, whose answers are kept in ``ledger`` and taken from it. ``name`` has no host in it."""

    def __init__(self, model: Model, name: str, role: str, ledger: Ledger) -> None:
        self._model = model
        self._name = name
        self._role = role
        self._ledger = ledger

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def brief(self) -> bool:
        return self._model.brief

    async def capabilities(self) -> Capabilities:
        return await self._model.capabilities()

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        stop: Sequence[str] = (),
        max_tokens: int = 512,
        temperature: float = 0.0,
        seed: int | None = None,
        top_logprobs: int = 0,
        choices: Sequence[str] | None = None,
        schema: Mapping[str, Any] | None = None,
        bias: Bias | None = None,
    ) -> Completion:
        said = tuple(Said(role=message.role, content=message.content) for message in messages)
        asked = [self._name, [(each.role, each.content) for each in said], tuple(stop), max_tokens, temperature, seed]
        key = sha256(json.dumps(asked).encode()).hexdigest()
        found = self._ledger.find(key)
        if found is not None:
            return found.completion
        completion = await self._model.complete(
            messages,
            stop=stop,
            max_tokens=max_tokens,
            temperature=temperature,
            seed=seed,
            top_logprobs=top_logprobs,
            choices=choices,
            schema=schema,
            bias=bias,
        )
        call = Call(
            key=key,
            role=self._role,
            messages=said,
            reply=clean(completion.text),
            finish=clean(completion.finish)[:100],
            prompt_tokens=completion.usage.prompt,
            completion_tokens=completion.usage.completion,
        )
        self._ledger.add(call)
        return call.completion

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        return await self._model.score(messages, continuations)

    async def aclose(self) -> None:
        await self._model.aclose()
