"""The expert in a model's place: an agent's real code asks, and what the expert would do is the reply, in the role's form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module

from housequest.agent.agents.registry import agent_names, agent_spec
from housequest.agent.models.base import Capabilities, Completion, Message, Model, Request, Scores, TokenChoice
from housequest.agent.roles.base import as_chat, load_prompt, plain_text
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply
from housequest.agent.training.export.conversations import Call
from housequest.worlds.errors import ConfigurationError, ModelError, shown

MOST_STEPS = 50
_SEARCHER = "housequest.agent.skills.controller"
_SENTENCE = re.compile(r"^(Thought: |<think>|\d+\. )([a-z])", re.MULTILINE)
"""Where a thought or a step of a plan begins with a small letter."""
_NEVER = -30.0
"""Nats of what the expert would not say."""
_TOLD = ("completions", "log_probabilities", "scoring", "singly", "choices", "bias", "deterministic")
LIKE_LLAMA = Capabilities(**dict.fromkeys(_TOLD, True))
"""What a ``llama:`` model can do that changes a prompt."""


class Teacher(Model):
    """Answers the prompts of ``agent`` by what the expert ``knows``, as a model that ``can`` do so much.

    ``calls`` are what it was asked and said.
    """

    name = "expert"

    def __init__(self, agent: str, knows: Demonstrator, can: Capabilities = LIKE_LLAMA) -> None:
        self._agent, self._knows, self._can = agent, knows, can
        self.calls: list[Call] = []

    async def capabilities(self) -> Capabilities:
        """What changes a prompt. What the expert says needs no form to be held to."""
        return self._can

    async def complete(self, request: Request) -> Completion:
        marked = as_chat(request.text) if request.raw else ()
        said = self._reply(replace(request, messages=marked, raw=False) if marked else request)
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

    def _reply(self, request: Request) -> Reply:
        """What the expert says. Raises ``ModelError`` where it does not know the role."""
        text, roles = request.messages[0].content, _roles(self._agent)
        begun = (role for begins, role in roles if text.startswith(begins))
        role = next(begun, None) or next((role for _, role in roles if role.mark and role.mark in text), None)
        if role is None:
            raise ModelError(f"The expert does not know who asks: {text[:60]!r}.")
        said = role.reply(self._knows, request)
        # A model that is held to the role's form begins thoughts and steps with a capital, so it learns to.
        return replace(said, text=_SENTENCE.sub(lambda begun: begun[1] + begun[2].upper(), said.text))

    def _asked(self, request: Request) -> tuple[Message, ...]:
        """The messages of ``request``; of plain text, the lines that were said before are told apart again."""
        if not request.raw:
            return tuple(request.messages)
        text = request.text
        wholes: list[tuple[Message, ...]] = [call.whole for call in self.calls if text.startswith(plain_text(call.whole))]
        told = max(wholes, key=len, default=())
        return (*told, Message("user", text.removeprefix(plain_text(told))))


@cache
def _roles(agent: str) -> tuple[tuple[str, DemonstratedRole], ...]:
    """How the prompts of each role begin that may ask where ``agent`` plays, the longest first."""
    specs = [agent_spec(name) for name in (agent, *agent_spec(agent).wraps) if name in agent_names()]
    modules = [spec.demonstrations for spec in specs if spec.demonstrations]
    modules += [_SEARCHER] if any(spec.searches for spec in specs) else []
    found: list[tuple[str, DemonstratedRole]] = []
    for role in (role for module in modules for role in import_module(module).ROLES):
        sections = load_prompt(role.package, role.template).sections
        found.append(((sections.get("system") or sections["opening"]).partition("$")[0].strip(), role))
    return tuple(sorted(found, key=lambda one: -len(one[0])))


def can_teach(agent: str) -> bool:
    """Whether the expert can write the replies of ``agent``."""
    return agent_spec(agent).demonstrations is not None


def check_taught(agent: str) -> None:
    """Raise ``ConfigurationError`` for an agent whose replies the expert cannot write."""
    spec = agent_spec(agent)
    if not spec.needs_model:
        raise ConfigurationError(f"The agent {shown(agent)} asks no language model, so there is nothing to teach one.")
    if not can_teach(agent):
        known = ", ".join(filter(can_teach, agent_names()))
        raise ConfigurationError(
            f"The expert cannot write the replies of the agent {shown(agent)}, only of {known}. Another agent learns from "
            "games that it won with a stronger model: --from RUN, and without --houses and --games."
        )
