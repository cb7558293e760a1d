"""Keeps the calls of learning on disk with prompts and replies, so that an answered call is never repeated."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from housequest.agent.config import Prices
from housequest.agent.episodes.events import PromptMessage
from housequest.agent.episodes.record import cut_off_end
from housequest.agent.evaluation.runs.budget import Spending
from housequest.agent.evaluation.runs.cost import Tokens
from housequest.agent.evaluation.runs.files import lines_of, parsed_lines
from housequest.agent.models.base import Completion, Model, ModelWrapper, Request, Usage
from housequest.agent.roles.base import clean
from housequest.worlds.paths import open_file

LARGEST = 1 << 30


class LedgerCall(BaseModel):
    """One answered call. ``key`` is a digest of the model's name, the messages and the sampling settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    role: str
    messages: tuple[PromptMessage, ...]
    reply: str
    finish: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def completion(self) -> Completion:
        """The model's answer."""
        return Completion(self.reply, self.finish, Usage(self.prompt_tokens, self.completion_tokens))


class Ledger:
    """The calls in the file ``path``, one JSON line each.

    Each is written as soon as it is answered, so a killed process loses only calls in flight. Raises ``ConfigurationError``
    with the line of a damaged call.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        cut_off_end(path)
        way_out = " Take the line out of the file, and its call is made again."
        self.calls = {call.key: call for call in parsed_lines(LedgerCall, path, LARGEST, way_out)}

    def add(self, call: LedgerCall) -> None:
        """Append an answered call."""
        with open_file(self._path, "ab") as file:
            file.write(lines_of([call]))
        self.calls[call.key] = call

    def used(self, prices: Prices | None = None) -> Spending:
        """The total use of all calls."""
        calls = self.calls.values()
        tokens = Tokens(sum(call.prompt_tokens or 0 for call in calls), sum(call.completion_tokens or 0 for call in calls))
        return Spending.priced(len(calls), tokens, prices)


class LedgerModel(ModelWrapper):
    """``model`` in ``role`` with its answers cached in ``ledger``. ``name`` is the model's name without its address."""

    def __init__(self, model: Model, name: str, role: str, ledger: Ledger) -> None:
        super().__init__(model)
        self._name = name
        self._role = role
        self._ledger = ledger

    async def complete(self, request: Request) -> Completion:
        said = tuple(map(PromptMessage.of, request.messages))
        chat = [(each.role, each.content, *filter(None, (each.image,))) for each in said]
        asked = [self._name, chat, tuple(request.stop), request.max_tokens, request.temperature, request.seed]
        asked += ["raw"] if request.raw else []
        asked += [sorted(request.bias.items(), key=str)] if request.bias else []
        asked += [held] if (held := request.grammar or request.schema) else []
        key = sha256(json.dumps(asked).encode()).hexdigest()
        found = self._ledger.calls.get(key)
        if found is not None:
            return found.completion
        completion = await self.model.complete(request)
        call = LedgerCall(
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
