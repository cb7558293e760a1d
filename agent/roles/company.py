"""Adds the other players to prompts, and reads what a model says to them in a line of its reply. Without others, prompts and
forms stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from housequest.agent.base import Turn
from housequest.agent.models.forms import Form, Words
from housequest.agent.models.thoughts import split_thoughts
from housequest.agent.roles.base import Answer, Role, load_prompt
from housequest.agent.roles.reading import json_fields
from housequest.worlds.household.news import gift
from housequest.worlds.household.talk import free_text
from housequest.worlds.shared import WAIT

T = TypeVar("T")
HEARS = ("company",)
"""Sections of the first message: to a role that only hears the others; next, to one that also speaks, and to one that also
acts."""
SPEAKS = (*HEARS, "say")
ACTS = (*HEARS, "commands", "say")
MOST_LINES = 3
"""The most lines of a reply that are said."""
LONGEST_LINE = 200
_SAID = re.compile(r"(?im)^[^\S\n]*[*_`>-]{0,4}[^\S\n]*say\b[*_`]{0,4}[^\S\n]*[:：](?P<said>[^\n]*)\n?")
_NOTHING = re.compile(r"\W*(?:nothing(?: to (?:say|tell))?|none|no|n/a|null|silence)?\W*", re.IGNORECASE)


def told(turn: Turn, sections: Sequence[str]) -> str:
    """The part of a message about the others: these ``sections`` and the news; "" for a player alone."""
    if not turn.player:
        return ""
    prompt = load_prompt("housequest.agent.roles", "company")
    who = f"{' and '.join(turn.others)} play{'s' if len(turn.others) == 1 else ''}" if turn.others else "others play"
    parts = [" ".join(prompt.render(name, player=turn.player, others=who) for name in sections)] if sections else []
    parts += [prompt.render("news", news="\n".join(f"- {sentence}" for sentence in turn.news))] if turn.news else []
    return "".join(f"\n\n{part}" for part in parts)


def commands(turn: Turn) -> tuple[str, ...]:
    """The commands that exist only in company, for a form."""
    if not turn.player:
        return ()
    held = turn.belief.carried if turn.belief else ()
    return (WAIT, *(gift(thing, other) for thing in held for other in turn.others))


def speaking(role: Role[T], turn: Turn) -> Role[T]:
    """The role; in company, its reply may have lines for the others."""
    if not turn.player:
        return role
    form = role.form and _with_line(role.form)
    return replace(role, reader=_unsaid(role.reader), form=form)


def _unsaid(reader: Callable[[str], T]) -> Callable[[str], T]:
    return lambda text: reader(_SAID.sub("", text))


def _with_line(form: Form) -> Form:
    """The form with a line for the others, before that of the action."""
    line = ("\nSay: ", ("say", Words(LONGEST_LINE)))
    acts = (place for place, part in enumerate(form.parts) if isinstance(part, str) and part.startswith("\nAction:"))
    at = next(acts, len(form.parts))
    return Form((*form.parts[:at], *line, *form.parts[at:]))


def with_lines(answer: Answer[T], turn: Turn) -> Answer[T]:
    """The answer, in company with its words to the others."""
    if not turn.player or answer.value is None:
        return answer
    reply = split_thoughts(answer.conversation[-1].content, midst=True)[0]
    lines = [found["said"] for found in _SAID.finditer(reply)] or [json_fields(reply).get("say", "")]
    return replace(answer, says=tuple(line for said in lines if (line := spoken(said)))[:MOST_LINES])


def spoken(line: str) -> str:
    """The words of a line, as the others hear it; "" if it says nothing."""
    said = free_text(line.strip(' *_`"'))
    return "" if _NOTHING.fullmatch(said) else said
