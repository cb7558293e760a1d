"""Short prompts for a small model that was trained on them, rendered from belief at each call.

Each prompt is one message of under a hundred tokens, however long the game is: the plan, and a description of belief (OPEx,
section 3, "LLM-based Observer"). A prefix cache serves it up to the plan.

A small model follows hints only in the wordings that it was trained on, and seldom to a numbered place. So
`housequest.agent.skills.language` reads what a person says; only the rest is left to the model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import Any

from housequest.agent.roles.messages import numbered
from housequest.agent.skills.language.listening import Advice
from housequest.knowledge.rules import Rule
from housequest.worlds.base import Transition
from housequest.worlds.household.base import Commands
from housequest.worlds.household.belief import Belief, Item, Receptacle, kind
from housequest.worlds.household.goals import APPLIANCES

MOST_RULES = 4
MOST_HINTS = 2
MOST_FAILED = 3
LONGEST_LINE = 160
"""Characters that are shown of a goal, a rule, a hint or a failed plan."""
_RULE_WORD = re.compile(r"[a-z]{3,}")
_COMMON_WORDS = (
    "the and its any all put place lay set with under into from clean heat cool hot cold some two find look examine take move "
    "them there then that this what where you your one thing before only while most often not"
)
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class BriefState:
    """The memory of short prompts in a game.

    ``seen`` are the commands so far, each with the belief before it. ``hints`` are left to the model; the others were
    ``told`` in words that could be read. ``failed`` are the plans that did not win. Under this plan,
    ``repeated`` counts the replies that would have taught nothing, and ``turns`` the commands. ``others`` is the house in
    company: with what others told, and without what is theirs.
    """

    belief: Belief
    seen: tuple[tuple[Belief, str], ...] = ()
    hints: tuple[str, ...] = ()
    failed: tuple[tuple[str, ...], ...] = ()
    told: Advice = field(default_factory=Advice)
    repeated: int = 0
    turns: int = 0
    others: Belief | None = None

    @property
    def house(self) -> Belief:
        """The house to plan for and act in."""
        return self.others or self.belief

    def misses_some(self, plan: Sequence[str]) -> bool:
        """True if something that ``plan`` needs was not found yet, and there are places left to search."""
        return bool(self.house.unsearched) and not is_found(plan, self.house)

    def misses_all(self, plan: Sequence[str]) -> bool:
        """True if nothing that ``plan`` names was found yet, and there are places left to search."""
        return bool(self.house.unsearched) and not _is_any_seen(plan, self.house)

    @property
    def tried(self) -> tuple[str, ...]:
        """The commands given before in exactly this situation: they changed nothing, or led back to it."""
        return tuple(dict.fromkeys(command for belief, command in self.seen if belief == self.belief.alone))

    @property
    def idle(self) -> tuple[str, ...]:
        """The commands given before with the same knowledge: they taught nothing. Only walks are so from any place; what was
        refused elsewhere, such as to use a lamp, may be right here."""
        known, here = self.belief.elsewhere, self.belief.at
        after = (*(belief for belief, _ in self.seen[1:]), self.belief)
        given = (
            command
            for (belief, command), then in zip(self.seen, after, strict=False)  # the last goes on here
            if (belief.at == here or then.at != belief.at) and belief.elsewhere == known
        )
        return tuple(dict.fromkeys(given))

    def after(self, transitions: Iterable[Transition]) -> BriefState:
        belief, seen = self.belief, self.seen
        for one in transitions:
            seen = (*seen, (belief.alone, one.command))
            belief = one.observation.belief or belief
        return replace(self, belief=belief, seen=seen, turns=self.turns + len(seen) - len(self.seen))

    def alternatives(self, commands: Commands, barred: Container[str] = ()) -> tuple[str, ...]:
        """Commands in place of one that was tried or ``barred``: open something here, search elsewhere, go or look anywhere."""
        away = [one for one in self.house.receptacles if not self.house.is_here(one.name)]
        shut = [f"open {one.name}" for one in self.house.here() if one.openness == "closed"]
        unseen = [commands.go.format(place=one.name) for one in away if one.contents is None]
        anywhere = [*(commands.go.format(place=one.name) for one in away), "look", "inventory"]
        idle = self.idle

        def left(moves: Sequence[str]) -> list[str]:
            return [move for move in moves if move not in barred and move not in idle]

        return tuple(left((*shut, *unseen)) or left(anywhere))


def is_brief_prompt(prompt: str) -> bool:
    """True if ``prompt`` is one of these short prompts."""
    return prompt.startswith(("Goal:", "Plan:"))


def planning(goal: str, belief: Belief, rules: Iterable[Rule], hints: Sequence[str], failed: Sequence[Sequence[str]]) -> str:
    """The reasoner's prompt. Only training shows plans that ``failed``: in games, reading the goal again does better."""
    lines = [f"Goal: {_line(goal)}", f"Places: {' '.join(belief.kinds)}"]
    lines += [f"Rule: {_line(rule.statement)}" for rule in relevant_rules(goal, belief, rules)]
    lines += [f"Hint: {_line(hint)}" for hint in hints[-MOST_HINTS:]]
    lines += [f"Failed: {'; '.join(steps)[:LONGEST_LINE]}" for steps in failed[-MOST_FAILED:]]
    return "\n".join(lines)


def acting(plan: Sequence[str], belief: Belief, tried: Sequence[str]) -> str:
    text = numbered(plan)
    return f"Plan:\n{text}\n{observed(belief, text, tried)}"


_FIND, _WHERE = r"find and take an? (?P<object>[a-z]+)", r"(?:, (?:first|last) in the [a-z0-9 ]+)*"
_PUT = r"put it in the (?P<place>[a-z]+)"
_TWICE = (f"{_FIND}{_WHERE}", _PUT, f"find and take another (?P=object){_WHERE}", "put it in the (?P=place) too")
_PLANS = tuple(
    re.compile("\n".join(steps))
    for steps in (
        (_TWICE[0], _PUT),
        (_TWICE[0], "(?P<treatment>clean|heat|cool) it with the [a-z]+", _PUT),
        (_TWICE[0], f"find an? (?P<lamp>[a-z]+){_WHERE} and use it"),
        _TWICE,
    )
)


def is_possible(plan: Sequence[str], belief: Belief) -> bool:
    """True if small models are taught such a plan, and its place is in this house."""
    known = _parts(plan)
    place = None if known is None else known.groupdict().get("place")
    return known is not None and (place is None or place in belief.kinds)


def is_found(plan: Sequence[str], belief: Belief) -> bool:
    """True if all objects that ``plan`` needs were seen; if small models are not taught it, any that it names."""
    seen, known = Counter(item.kind for item in belief.items), _parts(plan)
    if known is None:
        return _is_any_seen(plan, belief)
    lamp = known.groupdict().get("lamp")
    return seen[known["object"]] >= _number_of(plan) and (lamp is None or lamp in seen)


def unseen(plan: Sequence[str], belief: Belief) -> tuple[str, ...]:
    """The kinds of thing that ``plan`` needs and that are searched for now: its object, or a second one once the first is
    at its place, and a lamp unless the object was found and is to be taken first. None if small models are not taught such a
    plan."""
    known = _parts(plan)
    if known is None:
        return ()
    things = [item for item in belief.items if item.kind == known["object"]]
    settled = [item for item in things if item.where is not None and kind(item.where) == known.groupdict().get("place")]
    lamp = known.groupdict().get("lamp")
    seen = {item.kind for item in belief.items}
    first = () if len(things) > (len(settled) if _number_of(plan) > 1 else 0) else (known["object"],)
    light = lamp is not None and lamp not in seen and (first or belief.held is not None)
    return (*first, lamp) if light and lamp is not None else first


def due(plan: Sequence[str], belief: Belief, commands: Commands) -> list[str]:
    """The commands that carry ``plan`` out with what was found, those where one stands first: take its object, treat it, put it
    in its place or use the lamp, or go there. None if small models are not taught such a plan."""
    known, held = _parts(plan), belief.item(belief.held)
    parts: dict[str, Any] = {} if known is None else known.groupdict()
    thing, place, treatment, lamp = (parts.get(part) for part in ("object", "place", "treatment", "lamp"))
    if thing is None or (held is not None and held.kind != thing):
        return []

    def inside(one: Receptacle, wanted: str | None) -> list[str]:
        return [name for name in belief.inside(one) if kind(name) == wanted]

    alike = thing if _number_of(plan) > 1 else None

    def doing(one: Receptacle) -> str | None:
        if held is None:
            found = [] if alike and one.kind == place else inside(one, thing)
            return commands.take.format(thing=found[0], place=one.name) if found else None
        if lamp is not None:
            lamps = inside(one, lamp)
            return commands.use.format(thing=lamps[0], place=one.name) if lamps else None
        if treatment is not None and not held.treated(treatment):
            if commands.treat is None or one.kind != APPLIANCES[treatment]:
                return None
            return commands.treat.format(verb=treatment, thing=held.name, place=one.name)
        return commands.puts[0].format(thing=held.name, place=one.name) if one.kind == place else None

    places = [(one, command) for one in belief.receptacles if (command := doing(one)) is not None]
    # Two things belong in the same receptacle.
    places.sort(key=lambda each: (-len(inside(each[0], alike if held else None)), not belief.is_here(each[0].name)))
    shut = treatment is None or held is None or held.treated(treatment)
    return [
        (f"open {one.name}" if one.openness == "closed" and shut else command)
        if belief.is_here(one.name)
        else commands.go.format(place=one.name)
        for one, command in places
    ]


def _is_any_seen(plan: Sequence[str], belief: Belief) -> bool:
    named = set(_WORD.findall(" ".join(plan)))
    return any(item.kind in named for item in belief.items)


def is_done(plan: Sequence[str], belief: Belief) -> bool:
    """True if the result of ``plan`` can be seen. A look under a lamp leaves no trace, so it never counts."""
    known = _parts(plan)
    parts: dict[str, Any] = {} if known is None else known.groupdict()
    if parts.get("place") is None:
        return False
    treatment = parts.get("treatment")

    def done(one: Receptacle) -> int:
        inside = (belief.things[name] for name in belief.inside(one) if kind(name) == parts["object"])
        return sum(treatment is None or item.treated(treatment) for item in inside)

    # Two things belong in the same receptacle.
    return any(done(one) >= _number_of(plan) for one in belief.receptacles if one.kind == parts["place"])


def _number_of(plan: Sequence[str]) -> int:
    return 2 if len(plan) == len(_TWICE) else 1


def _parts(plan: Sequence[str]) -> re.Match[str] | None:
    return next((known for one in _PLANS if (known := one.fullmatch("\n".join(plan)))), None)


def relevant_rules(goal: str, belief: Belief, rules: Iterable[Rule]) -> list[Rule]:
    """The first few rules that share a word with the goal, except for furniture and everyday words. Location rules are left
    out: code reads them better than a small network (`housequest.agent.skills.searching`)."""
    wanted, others = _words(goal).difference(belief.kinds), (rule for rule in rules if rule.kind != "location")
    return [rule for rule in others if not wanted.isdisjoint(_words(rule.statement))][:MOST_RULES]


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in _RULE_WORD.findall(text.lower())} - _COMMON


def _line(text: str) -> str:
    return " ".join(text[: 4 * LONGEST_LINE].split())[:LONGEST_LINE]


MOST_FOUND = 2
MOST_PLACES = 2
"""This many of each kind."""
MOST_UNSEEN = 30
MOST_TRIED = 6
_WORD = re.compile(r"[a-z]+")
_NAME = re.compile(r"[a-z]+ [0-9]+")
_KEPT = re.compile(r"put it in the ([a-z]+) too")


def observed(belief: Belief, plan: str, tried: Collection[str] = ()) -> str:
    """Describe the house for the next command. Things that ``plan`` names count; ``tried`` were given in this situation."""
    plan = plan.lower()
    named = frozenset((*_WORD.findall(plan), *_NAME.findall(plan)))
    kept = frozenset(_KEPT.findall(plan))
    held = belief.item(belief.held)
    lines = {
        "Holding": _item(held) if held else "nothing",
        "Here": "; ".join(_whole(belief, one) for one in belief.here()) or "nothing",
        "Found": ", ".join(_found(belief, named, kept)) or "nothing",
        "Places": ", ".join(_places(belief, named, kept)) or "nothing",
        "Unseen": " ".join(_unseen(belief, named)) or "nothing",
        "Tried": "; ".join(list(tried)[-MOST_TRIED:]),
    }
    return "\n".join(f"{label}: {text}" for label, text in lines.items() if text)


def _item(item: Item) -> str:
    return " ".join((item.name, *(word for word in item.state if word != "sliced")))


def _whole(belief: Belief, one: Receptacle) -> str:
    return f"{_place(one)}, {', '.join(belief.inside(one)) or ('unseen' if one.contents is None else 'empty')}"


def _place(one: Receptacle) -> str:
    return f"{one.name} {one.openness}" if one.openness in {"open", "closed"} else one.name


def _found(belief: Belief, named: Collection[str], kept: Collection[str]) -> Iterator[str]:
    """The plan's objects, nearest first; those that already lie in a target of the plan (``kept``) come last."""
    here = {one.name for one in belief.here()}
    shown: Counter[str] = Counter()
    for one in sorted(belief.receptacles, key=lambda one: (one.kind in kept, one.name not in here, *_place_order(one))):
        for name in belief.inside(one):
            item = belief.things[name]
            shown[item.kind] += 1
            if item.kind in named and shown[item.kind] <= MOST_FOUND:
                yield f"{_item(item)} in {one.name}{' here' if one.name in here else ''}"


def _places(belief: Belief, named: Collection[str], kept: Collection[str]) -> Iterator[str]:
    """The places to go to first, for each kind that the plan names; for a second object, where the first one lies."""

    def holding(one: Receptacle) -> int:
        return sum(kind(name) in named for name in belief.inside(one)) if one.kind in kept else 0

    here = {one.name for one in belief.here()}
    places = [one for one in belief.receptacles if one.kind in named]
    places.sort(key=lambda one: (one.kind, -holding(one), one.name not in here, _place_order(one)))
    for _, members in groupby(places, key=lambda one: one.kind):
        yield from (f"{_place(one)}{' here' if one.name in here else ''}" for one in islice(members, MOST_PLACES))


def _place_order(one: Receptacle) -> tuple[int, str, int]:
    """A sort key: places that need no opening first, then by name."""
    return {"surface": 0, "open": 0, None: 1, "closed": 2}[one.openness], one.kind, one.number


def _unseen(belief: Belief, named: Collection[str]) -> list[str]:
    """The next place to search of each kind, and all places that are named with their number."""
    each: dict[str, list[Receptacle]] = {}
    for one in belief.unsearched:
        each.setdefault(one.kind, []).append(one)
    ordered = (enumerate(sorted(members, key=lambda one: one.number)) for members in each.values())
    return [one.name for members in ordered for at, one in members if at == 0 or one.name in named][:MOST_UNSEEN]
