"""What a command may be, for a reply that is held to its form: the world's own forms, over the names that were seen.

What is possible now is hidden, so a held command may be refused like any other; only where admissible commands are granted is
it one of those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache

from housequest.agent.models.forms import LONGEST_THOUGHT, THOUGHT, Choice, Either, Form, Listed, Name, Value, Words
from housequest.worlds.base import Observation, Transition, World
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief

LONGEST_NAME = 40
MOST_ADMISSIBLE = 1_000
"""Commands among which a reply is held; what an endpoint takes in one list is limited."""

_PLACEHOLDER = re.compile(r"\b[A-Z]{3,}(?: or [A-Z]{3,})*\b")


def seen_after(
    household: Household | None, belief: Belief | None, opening: Observation, transitions: Iterable[Transition]
) -> Belief | None:
    """What was seen after these ``transitions``, which follow those of ``belief``; None where no household reads the texts."""
    if household is None:
        return None
    belief = household.begin(opening) if belief is None else belief
    for one in transitions:
        belief = household.update(belief, one.command, one.observation)
    return belief


def command_value(
    world: World, belief: Belief | None, admissible: Sequence[str] | None = None, others: tuple[str, ...] = ()
) -> Value | None:
    """What a command may be: one of the ``admissible`` where these are granted, else one of the world's forms.

    ``others`` are words that stand in place of a command. None in a world without forms.
    """
    if admissible is not None:
        known = tuple(dict.fromkeys((*admissible, *others)))
        return Choice(known) if known and len(known) <= MOST_ADMISSIBLE else None
    places = tuple(one.name for one in belief.receptacles) if belief else ()
    things = tuple(one.name for one in belief.items) if belief else ()
    return _by_forms(world.manual, places, things, others, seen=belief is not None)


@lru_cache(maxsize=256)
def _by_forms(
    manual: str, places: tuple[str, ...], things: tuple[str, ...], others: tuple[str, ...], *, seen: bool
) -> Value | None:
    names = {"RECEPTACLE": places, "OBJECT": things, "THING": (*places, *things)} if seen else {}
    meant: dict[tuple[str, ...], Value | None] = {}
    plain, forms = list(others), list[Form]()
    for named, end in _lines(manual):
        parts: list[str | tuple[str, Value]] = []
        for before, words in named:
            if words not in meant:
                meant[words] = _name(words, names)
            value = meant[words]
            if value is None:
                break
            # In JSON a name is called by the words before it: {"take": "mug 1", "from": "shelf 2"}.
            parts += [*([before] if before else []), (before.strip() or "name", value)]
        else:
            if parts:
                forms.append(Form((*parts, *([end] if end else []))))
            elif end:
                plain.append(end)
    options = (*([Choice(tuple(plain))] if plain else []), *forms)
    return Either(options) if len(options) > 1 else next(iter(options), None)


@cache
def _lines(manual: str) -> list[tuple[list[tuple[str, tuple[str, ...]]], str]]:
    """Each form of a manual: its placeholders, each as the words that it may be and behind the text before it, and its end."""
    lines: list[tuple[list[tuple[str, tuple[str, ...]]], str]] = []
    for line in manual.splitlines():
        named: list[tuple[str, tuple[str, ...]]] = []
        at = 0
        for found in _PLACEHOLDER.finditer(line):
            named.append((line[at : found.start()], tuple(found[0].split(" or "))))
            at = found.end()
        lines.append((named, line[at:]))
    return lines


def _name(words: tuple[str, ...], names: Mapping[str, tuple[str, ...]]) -> Value | None:
    """What a placeholder stands for: one of the known ``names``, or any name; None where none of them is known yet."""
    if not all(word in names for word in words):  # what else a form may name, such as a room
        return Name(LONGEST_NAME)
    known = tuple(dict.fromkeys(name for word in words for name in names[word]))
    return Choice(known) if known else None


def acting_form(command: Value | None, steps: int = 0) -> Form | None:
    """A thought and a command, and between them the number of the plan's present step where the plan has ``steps``."""
    if command is None:
        return None
    step = ("\nStep: ", ("step", Choice(tuple(str(number) for number in range(1, steps + 1))))) if steps else ()
    return Form(("Thought: ", (THOUGHT, Words(LONGEST_THOUGHT)), *step, "\nAction: ", ("action", command)))


def planning_form(most: int, *, begun: bool) -> Form:
    """A thought and a plan of at most ``most`` steps; one that has ``begun`` may also be kept."""
    steps = Listed(Words(160), most, begin="\n", first=1)
    plan = Either((Choice((" keep",)), steps)) if begun else steps
    return Form(("Thought: ", (THOUGHT, Words(LONGEST_THOUGHT)), "\nPlan:", ("plan", plan)))
