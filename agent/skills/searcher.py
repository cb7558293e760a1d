"""Has the agent's own model say where to look for a thing, in place of counts over a training split.

It is PET's eliminator turned round: relevance names the places to go to. The searcher is asked only where a skill looks for
something and does not know where, and names several places at once. It keeps no conversation: between two calls it is the list
of places that changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from housequest.agent.base import Emitter
from housequest.agent.models.base import Message, Model, Request
from housequest.agent.models.forms import Choice, Form, Listed
from housequest.agent.roles.base import ReplyError, Role, Sampling, ask, load_prompt
from housequest.agent.roles.demonstrations import DemonstratedRole, Demonstrator, Reply, asked, told
from housequest.agent.roles.messages import emit_rules, emit_thought, seen_in
from housequest.agent.roles.reading import found_json
from housequest.agent.skills.controller import Controller, ControllerState, Outcome, PlannerSearch
from housequest.agent.skills.naming import named_places
from housequest.knowledge.rules import Rule
from housequest.worlds.household.base import Household
from housequest.worlds.household.counts import drawn

NAME = "searcher"
MOST_NAMED = 8
"""Places that one answer is asked for; any further ones in it are not read."""
REPLY_TOKENS = 512
"""For a model that thinks before it answers; the names alone take some fifty."""
_MOST_READ = 4_000
_ANSWER = re.compile(r"^[\W_]{0,20}(?:final |my )?answer\b[\s*_`]*[:：](?P<rest>.*)", re.IGNORECASE | re.MULTILINE | re.DOTALL)


class SearchingController(Controller):
    """A `Controller` that asks ``model`` where to look, if ``search`` is ``llm``. Calls: 1 for up to `MOST_NAMED` places."""

    def __init__(
        self, household: Household, model: Model, sampling: Sampling, *, search: PlannerSearch, seed: int, near: bool = False
    ) -> None:
        super().__init__(household, search=search, seed=seed, near=near)
        self._model, self._sampling = model, sampling

    async def proceed(
        self, state: ControllerState, goal: str, emit: Emitter, rules: Sequence[Rule] = ()
    ) -> tuple[Outcome, ControllerState]:
        """`next`, after asking where to look if need be, by those of ``rules`` that say so. Raises ``ModelError``."""
        if (sought := self.sought(state)) is not None:
            thing, places = sought
            told = [rule for rule in rules if rule.kind == "location" and thing in rule.objects]
            guide = await self._guide(state, thing, places, goal, told, emit)
            state = replace(state, guides={**state.guides, thing: guide})
        return self.next(state)

    async def _guide(
        self, state: ControllerState, thing: str, places: Sequence[str], goal: str, rules: Sequence[Rule], emit: Emitter
    ) -> tuple[str, ...]:
        prompt, added = load_prompt(__package__ or "", NAME), load_prompt("housequest.agent.roles", "additions")
        seen, left = seen_in(state.belief, places), ", ".join(places)
        parts = [prompt.render("user", goal=goal, thing=thing, seen=seen, left=left)]
        if rules:
            parts.append(added.render("rules", rules="\n".join(f"- {rule.statement}" for rule in rules)))
        parts += [added.render("hint", hint=hint) for hint in state.hints]
        emit_rules(rules, (), emit)
        system = Message("system", prompt.render("system", most=str(MOST_NAMED)))
        answer = await ask(reader_of(places), self._model, (system,), "\n\n".join(parts), emit, self._sampling)
        if answer.value is not None:
            return answer.value
        emit_thought(NAME, f"where to look for the {thing} was not answered; it is looked for at random", emit)
        # A few at a time, and then it is asked again.
        return tuple(sorted(places, key=partial(drawn, state.salt))[:MOST_NAMED])


def reader_of(places: Sequence[str]) -> Role[tuple[str, ...]]:
    """The role whose replies name some of ``places``; a kind of place stands for all of its kind."""
    form = Form((("places", Listed(Choice(tuple(places)), min(MOST_NAMED, len(places)), between=", ")),)) if places else None
    return Role(NAME, partial(_read, places), reply_tokens=REPLY_TOKENS, form=form)


def _read(places: Sequence[str], text: str) -> tuple[str, ...]:
    listed = found_json(text, "[", "]")
    said = "\n".join(map(str, cast("list[object]", listed))) if isinstance(listed, list) else text[-_MOST_READ:]
    answers = [said, *(found["rest"] for found in _ANSWER.finditer(said))]
    found = next((named for answer in reversed(answers) if (named := dict.fromkeys(named_places(places, answer)))), None)
    if not found:
        raise ReplyError("it names none of the places that are left.")
    return tuple(found)[:MOST_NAMED]


def _searcher(knows: Demonstrator, request: Request) -> Reply:
    places = told(asked(request), "Left: ").split(", ")
    return Reply(", ".join(knows.searched(told(asked(request), "Looking for: "), places)[:MOST_NAMED]))


ROLES = (DemonstratedRole("housequest.agent.skills", NAME, _searcher),)
