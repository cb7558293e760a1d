"""The expert in a model's place: an agent's real code asks, and what the expert would do is the reply, in the role's form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from housequest.agent.agents.registry import agent_names, agent_spec
from housequest.agent.models.base import Capabilities, Completion, Message, Model, Request, Scores, TokenChoice
from housequest.agent.roles.base import plain_text
from housequest.agent.roles.completion import as_chat
from housequest.agent.training.export.conversations import Call
from housequest.agent.training.lora.knowing import Knowing
from housequest.agent.training.lora.replies import TAUGHT, reply
from housequest.worlds.errors import ConfigurationError, ModelError, shown

MOST_STEPS = 50
_NEVER = -30.0
"""Nats of what the expert would not say."""
_TOLD = ("completions", "log_probabilities", "scoring", "singly", "choices", "bias", "deterministic")
LIKE_LLAMA = Capabilities(**dict.fromkeys(_TOLD, True))
"""What a ``llama:`` model can do that changes a prompt."""


class Teacher(Model):
    """Answers an agent's prompts by what the expert ``knows``, as a model that ``can`` do so much.

    ``calls`` are what it was asked and said.
    """

    name = "expert"

    def __init__(self, knows: Knowing, can: Capabilities = LIKE_LLAMA) -> None:
        self._knows, self._can = knows, can
        self.calls: list[Call] = []

    async def capabilities(self) -> Capabilities:
        """What changes a prompt. What the expert says needs no form to be held to."""
        return self._can

    async def complete(self, request: Request) -> Completion:
        marked = as_chat(request.text) if request.raw else ()
        said = reply(self._knows, replace(request, messages=marked, raw=False) if marked else request)
        if request.choices is not None and said.text not in request.choices:
            raise ModelError(f"The expert would say {said.text!r}, which is none of the choices; this game teaches nothing.")
        self.calls.append(Call(self._asked(request), said.text, said.learned, request.raw))
        other = "Yes" if said.text == "No" else "No"
        tokens = (TokenChoice(said.text, 0.0, ((said.text, 0.0), (other, _NEVER))),) if request.top_logprobs else ()
        return Completion(said.text, tokens=tokens)

    async def score(self, messages: Sequence[Message], continuations: Sequence[str]) -> Scores:
        """The expert's reply is certain, and no other text is."""
        certain = (await self.complete(Request(messages, choices=continuations))).text
        return Scores(tuple(0.0 if text == certain else -1.0 for text in continuations))

    def _asked(self, request: Request) -> tuple[Message, ...]:
        """The messages of ``request``; of plain text, the lines that were said before are told apart again."""
        if not request.raw:
            return tuple(request.messages)
        text = request.text
        wholes: list[tuple[Message, ...]] = [call.whole for call in self.calls if text.startswith(plain_text(call.whole))]
        told = max(wholes, key=len, default=())
        return (*told, Message("user", text.removeprefix(plain_text(told))))


def check_taught(agent: str) -> None:
    """Raise ``ConfigurationError`` for an agent whose replies the expert cannot write."""
    spec = agent_spec(agent)
    if not spec.needs_model:
        raise ConfigurationError(f"The agent {shown(agent)} asks no language model, so there is nothing to teach one.")
    if spec.prompts not in TAUGHT:
        known = ", ".join(name for name in agent_names() if agent_spec(name).prompts in TAUGHT)
        raise ConfigurationError(
            f"The expert cannot write the replies of the agent {shown(agent)}, only of {known}. Another agent learns from "
            "games that it won with a stronger model: --from RUN, and without --houses and --games."
        )
