"""Grounds the names of an order in what is known of a house: which thing, which place, and the commands that do it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from housequest.agent.skills import naming
from housequest.worlds.household.base import Commands, Household
from housequest.worlds.household.belief import Belief, Item, Receptacle, kind
from housequest.worlds.household.goals import APPLIANCES, KNIVES, PLACES, Treatment
from housequest.worlds.text import with_article

_BETWEEN = r"(?: (?:the|a|an|my|your|our|that|this|other|another|some|one|of|same|nearest|closest|empty|open|closed|kitchen))*$"
_ROLE = re.compile(rf"\b(from|off|out of|inside|into|in|onto|on|to|at|with|using|under|near|by|behind){_BETWEEN}")
_OTHER = re.compile(r"\b(?:other|another|different|else)(?: one)?\b")
_EVERY = re.compile(r"\b(?:every|each|all)\b")
_BOTH = re.compile(r"\b(?:both|all|every|two|three|everything)\b")
_IT = re.compile(r"\b(?:it|him|her|that|this|them|these|those|one)\b(?! \w+ \d)")
MOST_CHOICES = 3
_SOME = 5
_FROM = frozenset({"from", "off", "out of"})
TO = frozenset({"to", "into", "onto"})
_INTO = frozenset({"in", "into", "inside", "on", "onto"})
_TREATED: dict[str, Treatment] = {"heat": "heat", "cool": "cool", "clean": "clean"}
UNSEEN = "I have seen no "
"""The beginning of a refusal about a thing that may still turn up."""
_UNKNOWN_FROM = re.compile(r"(?:the|an?|my|some) (?!thing\b)([a-z]{3,}) (?:from|off|out of)\b")
UNSEEN_THING = re.compile(rf"{UNSEEN}(\w+(?: \d+)?)(?: in (\w+ \d+))? yet\.")
LAMPS = frozenset({"desklamp", "floorlamp", "faucet"})
"""Kinds that may still be found on a place."""
_NUMBER = re.compile(r"[ _#]*(?:number )?(\d{1,4})\b")


_NOWHERE = re.compile(
    r"\b(?:in|into|on|onto|at|inside|to|out of|out) (?:the|an?|my|your|our)? ?"
    r"(?!(?:it|there|here|that|this|them|hand|place|again|back|of)\b)([a-z]{3,})"
)
"""A place that is none of the house's."""
_AWAY = re.compile(r"\b(?:to|into|onto|from) (?:the|my|your|our) ([a-z]{3,})$")
"""The same for an order to take a thing."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A kind that a text names, with its number and the preposition before it; ``other`` than the one spoken of."""

    kind: str
    number: int | None
    role: str
    other: bool
    is_place: bool

    def means(self, name: str) -> bool:
        """True if the thing or place of this name may be meant."""
        return kind(name) == self.kind and self.number in (None, int(name.rpartition(" ")[2]))

    @property
    def said(self) -> str:
        """The kind, with the number that was said."""
        return self.kind if self.number is None else f"{self.kind} {self.number}"


def mentions(text: str, belief: Belief, household: Household) -> Iterator[Mention]:
    """The things and places that a text names, in its order; also kinds that were not seen here yet."""
    places = set(belief.kinds)
    seen = {item.kind for item in belief.items}
    for named, start, end in naming.mentions(known_kinds(belief, household), text):
        number = _NUMBER.match(text, end)
        ahead = text[:start].rstrip()
        role = _ROLE.search(ahead)
        other = re.search(r"\b(?:other|another|different)$", ahead) is not None
        place = named in places or (named in PLACES and named not in seen and named not in LAMPS)
        yield Mention(named, int(number[1]) if number else None, role[1] if role else "", other, place)


def alone(text: str, belief: Belief, household: Household) -> Mention | None:
    """The one thing or place that a text is nothing but the name of."""
    text = re.sub(r"^(?:the|a|an|my|your|to|to the)\b ?", "", text.strip(" .!,"))
    found = [*naming.mentions(known_kinds(belief, household), text)]
    named = [*mentions(text, belief, household)]
    if len(found) != 1 or found[0][1] != 0 or re.fullmatch(r"s?[ _#]*(?:number )?\d*", text[found[0][2] :]) is None:
        return None
    return named[0]


def is_seen(said: Mention, belief: Belief) -> bool:
    """True if something of this kind was seen."""
    return any(said.means(item.name) for item in belief.items)


def known_kinds(belief: Belief, household: Household) -> set[str]:
    """The kinds of things and places that are here, or may be in a house of this world."""
    objects = (name for room in household.counts().rooms.values() for name in room.objects)
    return {*belief.kinds, *(item.kind for item in belief.items), *PLACES, *objects}


def in_names_of_the_house(text: str, belief: Belief) -> str:
    """``text`` with places by the house's own names, and numbers behind them."""
    at, parts = 0, list[str]()
    for named, start, end in naming.mentions({*belief.kinds}, text):
        parts += [text[at:start], named]
        at = end
    return naming.with_numbers("".join((*parts, text[at:])), belief)


def verb_of(command: str, commands: Commands) -> str | None:
    """The verb of a command as `Grounder` takes it, whatever its world calls it; None for one without a verb of a household."""
    patterns = {"go": (commands.go,), "take": (commands.take,), "use": (commands.use,), "put": commands.puts}
    for verb, known in patterns.items():
        if any(command.startswith(pattern.partition("{")[0]) for pattern in known):
            return verb
    if any(command.startswith(form.pattern.partition("{")[0]) for form in commands.forms if " off " in form.pattern):
        return "take_off"
    first = command.partition(" ")[0]
    return first if first in ("open", "close", "examine", "slice", *_TREATED) else None


def no_such_place(named: str, belief: Belief) -> str:
    """Say which places of a kind there are instead."""
    numbers = sorted(one.number for one in belief.receptacles if one.kind == kind(named))
    last = f" to {numbers[-1]}" if len(numbers) > 1 else ""
    return f"There is no {named} here, only {kind(named)} {numbers[0]}{last}."


def no_place_of(command: str, belief: Belief) -> str | None:
    """Say that a place in a command is none of the house's; None if all may be there. Rooms may hide places from view."""
    for named in () if belief.rooms else names_of(command):
        of_kind = kind(named)
        if named in belief.places or belief.item(named) is not None:
            continue
        if of_kind in belief.kinds:
            return no_such_place(named, belief)
        if of_kind in PLACES and of_kind not in LAMPS and not any(item.kind == of_kind for item in belief.items):
            some = sorted(belief.kinds)
            others = " and others" if len(some) > _SOME else ""
            return f"There is no {of_kind} here. There are: {', '.join(some[:_SOME])}{others}."
    return None


def names_of(command: str) -> list[str]:
    """The numbered names in a command."""
    return re.findall(r"[a-z]\w* \d+", command)


def missing_place(text: str, belief: Belief) -> str | None:
    """Say that a numbered place, or a kind of place, is not in this house; None if all are."""
    for named in belief.kinds:
        for number in re.findall(rf"\b{re.escape(named)} (\d+)", text):
            if f"{named} {int(number)}" not in belief.places:
                return no_such_place(f"{named} {int(number)}", belief)
    named = (one for one, *_ in naming.mentions({*PLACES, *LAMPS} - {*belief.kinds}, text))
    found = next((one for one in named if one not in LAMPS), None)
    return None if found is None else f"I know of no {found} here."


def put(thing: str, place: str, belief: Belief, commands: Commands, role: str = "") -> str:
    """The command that puts a thing at a place: of two forms, the one that was said or that fits the place."""
    there = belief.receptacle(place)
    opens = there is not None and there.openness in ("open", "closed")
    inside = role in ("in", "into", "inside") or (opens and role not in ("on", "onto"))
    return commands.puts[0 if inside else -1].format(thing=thing, place=place)


@dataclass
class Grounder:
    """Grounds one order; ``thing`` and ``place`` are what was last spoken of, ``taken`` what earlier orders will have taken."""

    belief: Belief
    household: Household
    thing: str | None = None
    place: str | None = None
    taken: list[str] = field(default_factory=list[str])
    refused: str | None = None
    choices: tuple[str, ...] = ()

    @property
    def commands(self) -> Commands:
        """The forms of the world's commands."""
        return self.household.commands

    @property
    def held(self) -> str | None:
        """The thing in the hand once the orders before were carried out."""
        return self.taken[-1] if self.taken else self.belief.held

    def acts(self, verb: str, rest: str, *, player: bool) -> list[str] | None:
        """The commands that an order asks for; None if it names nothing. ``refused`` then says why nothing can be done."""
        # "The red one, not the blue one" orders nothing about the other.
        rest = re.sub(r"(?<=\w),? (?:and )?(?:but )?not (?:the|that|this|to|in|on|from)\b.*", "", rest)
        if verb in ("open", "close"):
            rest = re.sub(r"^(?:the|its|that|this) door\b|\bdoor\b", "", rest).strip()
        text = in_names_of_the_house(rest, self.belief)
        spoken_of = naming.mentions(self.belief.kinds, rest)
        self._plural = {one for one, start, end in spoken_of if rest[start:end].endswith("s") and not one.endswith("s")}
        self._plural |= {kind_of for kind_of, _, _ in naming.mentions(self.belief.kinds, rest) if _EVERY.search(rest)}
        named = [*mentions(text, self.belief, self.household)]
        if not named and _OTHER.search(text) is not None:
            spoken = self.place or self.belief.at if verb in ("go", "open", "close", "search") else self.thing or self.held
            named = [Mention(kind(spoken), None, "", True, spoken in self.belief.places)] if spoken else []
        if verb in ("inventory", "look"):
            return [verb]
        ways: dict[str, Callable[[str, Sequence[Mention]], list[str] | None]] = {
            "go": self._go,
            "search": self._search,
            "open": self._open,
            "close": self._open,
            "put": self._put,
            "examine": self._examine,
            "use": self._use,
            "take_off": self._use,
            "slice": self._slice,
        }
        self._verb = verb
        if verb in _TREATED:
            return self._treat(_TREATED[verb], text, named)
        if verb == "search" and not player:
            return None
        if verb == "take":
            return self._take(text, named, player=player)
        return ways[verb](text, named)

    def _refuse(self, why: str) -> list[str]:
        self.refused = why
        return []

    def _place_of(self, said: Mention, *, here: bool = True) -> str | None:
        alike = sorted((one.number, one.name) for one in self.belief.receptacles if one.kind == said.kind)
        if not alike:
            self._refuse(f"I know of no {said.kind} here.")
            return None
        if said.number is not None:
            name = f"{said.kind} {said.number}"
            if name not in self.belief.places:
                self._refuse(no_such_place(name, self.belief))
                return None
            return name
        names = [name for _, name in alike]
        if said.other:
            unseen = {one.name for one in self.belief.unsearched}
            others = [name for name in names if not self.belief.is_here(name) and name != self.place]
            names = [name for name in others if name in unseen] or others
            if not names:
                self._refuse(f"There is no other {said.kind} here.")
                return None
        elif self.place in names:
            return self.place
        if here and (near := next((name for name in names if self.belief.is_here(name)), None)) is not None and not said.other:
            return near
        return names[0]

    def _there(self, text: str) -> str | None:
        """The place that "there", "here" or a bare pronoun means."""
        if re.search(r"\bthere\b", text):
            return self.place or self.belief.at
        return self.belief.at if re.search(r"\b(?:here|down)\b", text) else None

    def alike(self, named: str) -> list[str]:
        """The things of this kind, or of this name, nearest first."""
        alike = self._things(Mention(kind(named), None, "", False, False))
        return [item.name for item in alike if naming.matches(item.name, named)]

    def _things(self, said: Mention, source: str | None = None) -> list[Item]:
        """The things of this kind that were seen, nearest first."""
        alike = [item for item in self.belief.items if said.means(item.name)]
        if source is not None:
            alike = [item for item in alike if item.where == source]
        if said.other:
            alike = [item for item in alike if item.name not in (self.thing, self.held)] or alike
        here = {name for one in self.belief.here() for name in self.belief.inside(one)} | {*self.belief.beside}
        return sorted(alike, key=lambda item: (item.name != self.thing, item.name not in here, int(item.name.split()[-1])))

    def _it(self, text: str) -> str | None:
        """The thing that a pronoun means: what is held, else what was last spoken of, else the only thing here."""
        if _IT.search(text) is None and text.strip():
            return None
        if self.held is not None:
            return self.held
        if self.thing is not None:
            return self.thing
        return self._one_of([name for one in self.belief.here() for name in self.belief.inside(one)] or [*self.belief.beside])

    def _one_of(self, here: Sequence[str]) -> str | None:
        """The only one of several things; else asks which is meant."""
        if 1 < len(here) <= MOST_CHOICES:
            self.choices = tuple(here)
            self._refuse(f"Which one: {', '.join(here[:-1])} or {here[-1]}?")
        elif len(here) > 1:
            self._refuse("Which thing is that? Name it.")
        return here[0] if len(here) == 1 else None

    def _thing(self, text: str, named: Sequence[Mention], *, hold: bool) -> str | None:
        """The thing of an order; one that is ``hold`` counts before those that lie about."""
        said = next((one for one in named if not one.is_place), None)
        if said is None:
            return self._it(text)
        if hold and self.held is not None and said.means(self.held) and not said.other:
            return self.held
        sources = _FROM if hold else {*_FROM, "in", "on", "at", "inside"}
        lies = next((one for one in named if one.is_place and one.role in sources), None)
        source = self._place_of(lies) if lies is not None else None
        if lies is not None and lies.number is None and lies.role not in _FROM and not self._things(said, source):
            source = next((item.where for item in self._things(said) if item.where and kind(item.where) == lies.kind), None)
        if source is None and lies is None and re.search(r"\bthere\b", text) and self.place and not hold:
            source = self.place
        if self.refused:
            return None
        found = self._things(said, source)
        if not found:
            where = f" in {source}" if source else ""
            self._refuse(f"{UNSEEN}{said.said}{where} yet.")
            return None
        return found[0].name

    def _go(self, text: str, named: Sequence[Mention]) -> list[str] | None:
        place = next((one for one in named if one.is_place), None)
        if place is not None:
            name = self._place_of(place, here=re.search(r"\b(?:this|here)\b", text) is not None)
            if name is None:
                return []
            self.place = name
            return [self.commands.go.format(place=name)]
        if named:
            found = self._things(named[0])
            if not found:
                return self._refuse(f"{UNSEEN}{named[0].said} yet.")
            self.thing, where = found[0].name, found[0].where
            if self.commands.reach:
                return [self.commands.reach.format(thing=found[0].name)]
            self.place = where or self.place
            return [self.commands.go.format(place=where)] if where else self._refuse(f"I hold {found[0].name}.")
        there = self._there(text)
        return [self.commands.go.format(place=there)] if there else None

    def _search(self, text: str, named: Sequence[Mention]) -> list[str] | None:
        place = next((one for one in named if one.is_place), None)
        if place is None:
            there = self._there(text)
            return [f"examine {there}"] if there else None
        if place.number is None and place.kind in self._plural and (alike := self._unsearched(place.kind)):
            opens = any(one.kind == place.kind and one.openness in ("open", "closed") for one in self.belief.receptacles)
            return [f"open {one.name}" if opens else self.commands.go.format(place=one.name) for one in alike]
        name = self._place_of(place, here=False)
        if name is None:
            return []
        self.place = name
        one = self.belief.places[name]
        if one.openness == "closed":
            return [f"open {name}"]
        return [f"examine {name}"] if self.belief.is_here(name) else [self.commands.go.format(place=name)]

    def _unsearched(self, of_kind: str) -> list[Receptacle]:
        return sorted((one for one in self.belief.unsearched if one.kind == of_kind), key=lambda one: one.number)

    def _open(self, text: str, named: Sequence[Mention]) -> list[str] | None:
        place = next((one for one in named if one.is_place), None)
        meant = not text or _IT.search(text) is not None or re.search(r"\b(?:t?here|again)\b", text) is not None
        name = self._place_of(place) if place is not None else (self.place or self.belief.at) if meant else None
        if place is None and named:
            return self._refuse(f"{with_article(named[0].kind).capitalize()} cannot be opened here.")
        if name is None:
            return [] if self.refused else None
        self.place = name
        if place is not None and place.number is None and place.kind in self._plural:
            alike = sorted((one.number, one.name) for one in self.belief.receptacles if one.kind == place.kind)
            return [f"{self._verb} {one}" for _, one in alike]
        return [f"{self._verb} {name}"]

    def _take(self, text: str, named: Sequence[Mention], *, player: bool = False) -> list[str] | None:
        things = [one for one in named if not one.is_place]
        if (
            not things
            and (place := next((one for one in named if one.is_place), None)) is not None
            and _IT.search(text) is None
        ):
            if _BOTH.search(text) and (where := self._place_of(place)) is not None:
                name = self._one_of(self.belief.inside(self.belief.places[where]))
                return [] if name is None else self._first_take(name)
            if (thing := _UNKNOWN_FROM.match(text)) is not None and player and (where := self._place_of(place)) is not None:
                return self._refuse(f"{UNSEEN}{thing[1]} in {where} yet.")
            if place.role:
                return None
            return self._refuse(f"{with_article(place.kind).capitalize()} cannot be carried.")
        unknown = _AWAY.search(text)
        if unknown is not None and unknown[1] not in {one.kind for one in named} and not any(one.is_place for one in named):
            return self._refuse(f"I know of no {unknown[1]} here.")
        acts = list[str]()
        for said in things[:2] or [None]:
            name = self._thing(text, [said, *(one for one in named if one.is_place)] if said else named, hold=False)
            if name is None:
                return acts or ([] if self.refused else None)
            if said is not None and _BOTH.search(text) and self.belief.hands == 1 and len(self._things(said)) > 1:
                self._refuse("I can hold one thing at a time.")
            item = self.belief.item(name)
            target = next((one for one in named if one.is_place and one.role in TO), None)
            if target is None and (item is None or name in self.belief.carried):
                return self._refuse(f"I hold {name} already.")
            self.thing = name
            acts += self._first_take(name)
            if target is not None and (place := self._place_of(target)) is not None:
                self.place = place
                acts.append(put(name, place, self.belief, self.commands, target.role))
        return acts

    def _put(self, text: str, named: Sequence[Mention]) -> list[str] | None:
        places = [one for one in named if one.is_place]
        target = next((one for one in reversed(places) if one.role not in _FROM), None)
        thing = self._thing(text if not named else re.sub(r"\b(?:in|on|to|at|into|onto)\b.*", "", text), named, hold=True)
        if self.refused:
            return []
        if thing is None:
            thing = self.held if not [one for one in named if not one.is_place] else None
        if thing is None:
            return self._refuse("My hands are empty.")
        unknown = _NOWHERE.search(text)
        if target is None and unknown is not None and unknown[1] not in {one.kind for one in named}:
            return self._refuse(f"I know of no {unknown[1]} here.")
        things = [one for one in named if not one.is_place]
        beside = next((one for one in things[1:] if one.role), None)
        if target is None and beside is not None and beside.role in _INTO:
            return self._refuse(f"Nothing can be put on {with_article(beside.kind)} here.")
        near = None if target is not None or beside is None else next((item.where for item in self._things(beside)), None)
        place = self._place_of(target) if target is not None else near or self._there(text) or self._kept(text)
        if place is None:
            return [] if self.refused else self._refuse(f"I do not know where to put {thing}.")
        role = target.role if target is not None else ""
        # "The egg and the potato" are put there one after the other.
        ahead = [one for one in things[1:] if not one.role and target is not None and named.index(one) < named.index(target)]
        more = [found[0].name for one in ahead if (found := self._things(one))]
        acts = list[str]()
        for name in dict.fromkeys((thing, *more)):
            acts += [*self._first_take(name), put(name, place, self.belief, self.commands, role)]
        self.thing, self.place = thing, place
        return acts

    def _kept(self, text: str) -> str | None:
        """The place of a thing if none is said: inside of what was spoken of, or down here."""
        return self.place or self.belief.at if re.search(r"\b(?:in|inside|into)\b", text) else self.belief.at

    def _first_take(self, thing: str) -> list[str]:
        item = self.belief.item(thing)
        if thing in self.belief.carried or thing in self.taken or item is None or item.where is None:
            return []
        self.taken.append(thing)
        return [self.commands.take.format(thing=thing, place=item.where)]

    def _treat(self, treatment: Treatment, text: str, named: Sequence[Mention]) -> list[str] | None:
        thing = self._thing(re.sub(r"\b(?:with|using|in|at)\b.*", "", text), named, hold=True)
        if self.refused:
            return []
        if thing is None:
            return self._refuse(f"I do not know what to {treatment}.") if not named or _IT.search(text) else None
        device = next((one for one in named if one.is_place and one.role not in _FROM), None)
        if self.commands.treat is None:
            return self._refuse(f"There is no command to {treatment} things in this house.")
        if device is not None and device.kind != APPLIANCES[treatment]:
            can = APPLIANCES[treatment]
            return self._refuse(f"{with_article(device.kind).capitalize()} cannot {treatment} things here; the {can} can.")
        place = next((one.name for one in self.belief.receptacles if one.kind == APPLIANCES[treatment]), None)
        if place is None:
            return self._refuse(f"Only a {APPLIANCES[treatment]} can {treatment} things, and there is none here.")
        self.thing, self.place = thing, place
        return [*self._first_take(thing), self.commands.treat.format(verb=treatment, thing=thing, place=place)]

    def _slice(self, text: str, named: Sequence[Mention]) -> list[str] | None:
        form = next((form.pattern for form in self.commands.forms if form.pattern.startswith("slice ")), None)
        if form is None:
            return self._refuse("Nothing can be cut in this house.")
        objects = [one for one in named if not one.is_place and one.kind not in KNIVES]
        thing = self._thing(text, objects, hold=False)
        knife = self.held if self.held is not None and kind(self.held) in KNIVES else None
        if self.refused:
            return []
        if thing is None or kind(thing) in KNIVES:
            return self._refuse("I do not know what to cut.")
        if knife is None:
            said = [one for one in named if one.kind in KNIVES]
            seen = self._things(said[0]) if said else [item for item in self.belief.items if item.kind in KNIVES]
            if not seen:
                return self._refuse("I have seen no knife yet.")
            knife = seen[0].name
            return [*self._first_take(knife), form.format(object=thing, tool=knife)]
        return [form.format(object=thing, tool=knife)]

    def _examine(self, text: str, named: Sequence[Mention]) -> list[str] | None:
        if named and named[0].is_place:
            name = self._place_of(named[0])
        else:
            name = self._thing(text, named, hold=True) or self._there(text) or (self.place if _IT.search(text) else None)
        if name is None:
            return [] if self.refused else None
        return [f"examine {name}"]

    def _use(self, text: str, named: Sequence[Mention]) -> list[str] | None:
        pattern = self.commands.use
        if self._verb == "take_off":
            off = next((form.pattern for form in self.commands.forms if " off " in form.pattern), None)
            if off is None:
                return self._refuse("Nothing can be switched off here.")
            pattern = off
        if named and named[0].is_place:
            name = self._place_of(named[0])
            if named[0].kind in APPLIANCES.values() and self.commands.treat is not None:
                treatment: Treatment = next(one for one, device in APPLIANCES.items() if device == named[0].kind)
                return self._treat(treatment, text, named)
            if self.commands.treat is not None:
                ways = ", ".join(f"{with_article(device)} can {does}" for does, device in APPLIANCES.items())
                return self._refuse(f"{with_article(named[0].kind).capitalize()} cannot be used here; {ways}.")
        else:
            name = self._thing(text, named, hold=False)
        if name is None:
            return [] if self.refused else None
        return [pattern.format(thing=name)]
