"""Reads what a person's hint tells a player to do, by the names of the house: places to go to, a command, a question.

A small model follows hints in the wordings that it was trained on, and seldom to a numbered place. What can be read without it
is done without it; the rest is left to the model. Which of several places is meant may be said by a number, an ordinal or
"last".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from housequest.agent.skills.naming import CALLED, denied_places, kind_of, matches, mentions, named_places, phrases, resolve
from housequest.worlds.household.base import Commands
from housequest.worlds.household.belief import Belief, Item, kind
from housequest.worlds.household.goals import APPLIANCES, PLACES, Treatment

_SAID = phrases("hints")
_TREATMENTS: tuple[Treatment, ...] = ("heat", "cool", "clean")
_ARTICLES = frozenset({"the", "a", "an", "any", "my", "our", "your", "this", "that", "number", "no"})
_IT = frozenset({"it", "that", "this", "them"})
_LATER = frozenset({"desklamp", "floorlamp", "faucet"})
"""Kinds that stand on a place, and may yet be found."""
_LONGEST = 500
_LEAST_SPELLED, _LIKE, _MORE_LIKE = 4, 0.75, 0.8
"""Letters of a word that may be a misspelt name; how alike it and the house's name, or another name, must be, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Directions:
    """What a hint tells to do: go to ``places`` in this order and look into each, then give ``command``. ``search``: finding
    something wanted but for what was ``known`` ends it. ``missing`` is the kind of a place that the house does not have.
    """

    hint: str
    commands: Commands
    places: tuple[str, ...] = ()
    avoided: frozenset[str] = frozenset()
    command: str | None = None
    search: bool = False
    known: frozenset[str] = frozenset()
    missing: str | None = None

    def next(self, belief: Belief, wanted: str, barred: Collection[str] = ()) -> tuple[str, Directions] | None:
        """The command to give now, but ``barred`` ones, and what is left; ``wanted`` is any text that names wanted kinds."""
        kinds = frozenset(re.findall(r"[a-z]+", wanted.lower()))
        if self.search and any(item.kind in kinds and item.name not in self.known for item in belief.items):
            return None
        for at, place in enumerate(self.places):
            one = belief.receptacle(place)
            shut = one is not None and one.openness == "closed"
            move = self.commands.go.format(place=place) if not belief.is_here(place) else f"open {place}" if shut else None
            if move is not None and move not in barred:
                return move, replace(self, places=self.places[at:])
        if self.command is None or self.command in barred:
            return None
        return self.command, replace(self, places=(), command=None)


def read_directions(hint: str, belief: Belief, commands: Commands) -> Directions | None:
    """What ``hint`` tells to do in this house, by the ``commands`` of its world; None where its words do not say."""
    if not belief.receptacles:
        return None
    text = _in_names_of_the_house(_SAID["rhetorical"].sub("", _plain(hint)), belief)
    names = [one.name for one in belief.receptacles]
    numbered = re.findall(rf"\b({'|'.join({re.escape(kind(name)) for name in names})})[ _#]*(\d{{1,6}})", text)
    missing = next((named for named, number in numbered if f"{named} {int(number)}" not in names), None)
    places, avoided = tuple(dict.fromkeys(named_places(names, text))), denied_places(names, text)
    known = frozenset(item.name for item in belief.items)
    if missing is not None and not (places or avoided):
        return Directions(hint, commands, missing=missing)
    told = _SAID["command"].match(_SAID["polite"].sub("", text.strip()))
    if told is not None and (found := _command(told, places, belief, commands)) is not None:
        return Directions(hint, commands, found[0], command=found[1], known=known, missing=missing)
    if not (places or avoided):
        return None
    if len(places) > 1:
        unseen = {one.name for one in belief.unsearched}
        places = tuple(one for one in places if one in unseen) or places[:1]
    return Directions(hint, commands, places, avoided, search=True, known=known, missing=missing)


def _command(
    told: re.Match[str], places: tuple[str, ...], belief: Belief, commands: Commands
) -> tuple[tuple[str, ...], str] | None:
    """Where to go and what to do there for a hint that is an order; None where belief does not say how."""
    verb = next(name for name, said in told.groupdict().items() if said and name != "thing")
    thing, held = told["thing"].strip(), belief.item(belief.held)
    holds = held is not None and (thing in _IT or _means(thing, held, belief))
    if verb == "close":
        return (places[:1], f"close {places[0]}") if places else None
    if verb == "put" and holds and places:
        return places[:1], commands.puts[0].format(thing=belief.held, place=places[0])
    if verb in _TREATMENTS and holds and commands.treat:
        device = next(
            (one for one in (*places, *(one.name for one in belief.receptacles)) if kind(one) == APPLIANCES[verb]), None
        )
        return ((device,), commands.treat.format(verb=verb, thing=belief.held, place=device)) if device else None
    if verb not in ("take", "use"):
        return None
    for item in belief.items:
        if item.where is not None and _means(thing, item, belief) and (not places or item.where in places):
            pattern = commands.take if verb == "take" else commands.use
            return (item.where,), pattern.format(thing=item.name, place=item.where)
    return None


def cannot_follow(hint: str, belief: Belief) -> str:
    """Why `read_directions` finds nothing to do in ``hint``, and what it could."""
    told = _SAID["command"].match(_SAID["polite"].sub("", hint.lower().strip()))
    thing = told["thing"].strip() if told is not None else ""
    if thing and thing not in _IT and not any(_means(thing, item, belief) for item in belief.items):
        return f'I have seen no such thing as in "{hint}" yet, so I cannot do that now.'
    for named, *_ in mentions(PLACES, hint.lower()):
        if named not in _LATER and named not in belief.kinds:
            return f"I know of no {named.removesuffix('f')}{'ves' if named.endswith('f') else 's'} here."
    kinds = ", ".join(sorted(belief.kinds))
    places = f" The places here are: {kinds}." if kinds else ""
    return f'I find no place and no order for me in "{hint}".{places}'


def no_such_place(told: Directions, belief: Belief) -> str | None:
    """That the house has no such place as a hint names, and which of its kind it has; None where it has all."""
    if told.missing is None:
        return None
    numbers = sorted(one.number for one in belief.receptacles if one.kind == told.missing)
    last = f" to {numbers[-1]}" if len(numbers) > 1 else ""
    return f'I know of no such place as in "{told.hint}", only of {told.missing} {numbers[0]}{last}.'


def answer_question(
    question: str, belief: Belief, plan: Sequence[str], step: int, told: Directions | None = None
) -> str | None:
    """An answer to "where is the mug?", "have you seen it?" or "why?"; ``told`` is what is being done for a person."""
    text = _plain(question).strip()
    at_work = f"I am at step {step + 1}: {plan[step]}." if plan else "I have no plan yet."
    if found := _SAID["where"].match(text) or _SAID["seen"].match(text):
        thing = found["thing"].strip()
        if _SAID["looked"].match(thing):
            looked = [one.name for one in belief.receptacles if one.contents is not None]
            return f"I have looked into {', '.join(looked)}." if looked else "I have looked into nothing yet."
        if speaker := _SAID["speakers"].match(thing):
            where = f"I am at {belief.at}." if belief.at else "I stand in the middle of the room."
            return where if speaker.end() == len(thing) else at_work
        return _about_place(thing, belief) or _whereabouts(thing, belief)
    if _SAID["why"].match(text) and not _SAID["rhetorical"].match(text):
        return f'Because you said: "{told.hint}".' if told else f"My plan says so. {at_work}" if plan else at_work
    return None


def _about_place(said: str, belief: Belief) -> str | None:
    """What is known of a place, where ``said`` is the name of one and of nothing else."""
    kinds = {*PLACES, *belief.kinds} - _LATER
    for named, start, end in mentions(kinds, said):
        rest = f"{said[:start]} {said[end:]}".split()
        if not all(word in _ARTICLES or word.isdigit() for word in rest):
            return None
        there = [one for one in belief.receptacles if one.kind == named]
        numbers = {int(word) for word in rest if word.isdigit()}
        there = [one for one in there if not numbers or one.number in numbers]
        if not there:
            return f"I know of no {' '.join(word for word in said.split() if word not in _ARTICLES)} here."
        unseen = [one.name for one in there if one.contents is None]
        left = f" I have not looked into {', '.join(unseen)} yet." if unseen else ""
        return f"I know of {', '.join(one.name for one in there)}.{left}"
    return None


def _whereabouts(said: str, belief: Belief) -> str:
    seen = [item for item in belief.items if _means(said, item, belief)]
    if seen:
        held = [f"I hold {item.name}." for item in seen if item.name == belief.held]
        return " ".join([*held, *(f"I saw {item.name} in {item.where}." for item in seen if item.where is not None)])
    unseen = [one.name for one in belief.unsearched]
    left = f"I have not looked into {', '.join(unseen[:4])}{' and others' if len(unseen) > 4 else ''}."
    return f"I have not seen it yet. {left}" if unseen else "I have looked everywhere and not seen it."


def _means(said: str, item: Item, belief: Belief) -> bool:
    named = resolve(said, {one.kind for one in belief.items}, {one.name for one in belief.items})
    return named is not None and matches(item.name, named)


def _plain(said: str) -> str:
    return _SAID["bare_no"].sub(r"\g<verb>n't", said[:_LONGEST].lower())


def _in_names_of_the_house(text: str, belief: Belief) -> str:
    """``text`` with places by the house's own names, numbers behind; if it names none, slips are mended."""
    kinds = {*belief.kinds}
    if not any(mentions(kinds, text)):
        called = sorted(said for said in CALLED if kind_of(said, kinds))

        def mended(found: re.Match[str]) -> str:
            near = get_close_matches(found[0], sorted(kinds), 1, _LIKE) or get_close_matches(found[0], called, 1, _MORE_LIKE)
            return next(iter(near), found[0])

        text = re.sub(rf"[a-z]{{{_LEAST_SPELLED},}}", mended, text)
    at, parts = 0, list[str]()
    for named, start, end in mentions(kinds, text):
        parts += [text[at:start], named]
        at = end
    return with_numbers("".join((*parts, text[at:])), belief)


_UNITS = "one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_IRREGULAR = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth"}


def _ordinal(cardinal: str) -> str:
    *tens, last = cardinal.split()
    regular = f"{last.removesuffix('y')}ieth" if last.endswith("y") else f"{last.replace('twelve', 'twelf')}th"
    return " ".join((*tens, _IRREGULAR.get(last, regular)))


_ABOVE = (f"{ten} {unit}".strip() for ten in _TENS.split() for unit in ("", *_UNITS.split()))
_CARDINALS = {said: number for number, said in enumerate((*_UNITS.split(), *_TEENS.split(), *_ABOVE), 1)}
_FEW = [(said, number) for said, number in _CARDINALS.items() if 2 <= number <= 9]
_ORDINALS = {_ordinal(said): number for said, number in _CARDINALS.items()} | {"hundredth": 100}
_IN_ROW = (
    {"first": slice(0, 1)}
    | dict.fromkeys(("last", "final"), slice(-1, None))
    | dict.fromkeys(("last but one", "next to last"), slice(-2, -1))
    | {f"{_ordinal(word)}{to}last": slice(-few, 1 - few) for word, few in _FEW for to in (" ", " to ", " to the ")}
    | {f"first {said}": slice(0, few) for word, few in _FEW for said in (word, few)}
    | {f"last {said}": slice(-few, None) for word, few in _FEW for said in (word, few)}
)
"""Words for some of the places of a kind, as a slice of these in the order of their numbers."""
_FROM_HERE = ("next", "previous", "other", "another", "different")
_NONE_SUCH = 0


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


_CARDINAL = rf"(?:\d{{1,6}}(?!\w)|{_any(_CARDINALS)}\b(?! (?:by one|more|time|of)\b))"
_ORDINAL = rf"(?:\d{{1,6}} ?(?:st|nd|rd|th)|{_any({*_ORDINALS, *_IN_ROW, *_FROM_HERE})})\b"
_HUNDREDS = re.compile(rf"\b(?:(?P<many>a|{_any(_CARDINALS)}) )?hundred\b(?:(?: and)? (?P<rest>{_any(_CARDINALS)})\b)?")
_ONE = re.compile(rf"\b(?:{_ORDINAL}|{_CARDINAL})")
_NUMBER = r"(?:(?:number|num|no|nr)\b\.?|#)"
_AND = r"(?: ?,|,? and|,? or)(?: the)? "
_OF = r"(?: ones?)?(?: of(?: all| the| my| our| these| those)*)?"
_CALLED = rf"(?: (?:with|of|called) (?:the |a )?(?={_NUMBER}|{_CARDINAL}(?: on\b|$)))?(?:,? ?{_NUMBER})? ?"


def with_numbers(text: str, belief: Belief) -> str:
    """``text``, which names kinds of places as the house does, with the numbers of the places behind their kind: "third
    cabinet", "cabinet number three" and, where there are three, "last cabinet" become "cabinet 3". What the house has not is
    0.
    """

    def numbered(found: re.Match[str]) -> str:
        said = found["said"].replace(" the ", " ")
        return f"{found['kind']} {_ONE.sub(lambda one: _meant(one[0], found['kind'], belief), said)}"

    def again(found: re.Match[str]) -> str:
        return f"{found['kind']}{found['between']}{numbered(found)}"

    kinds = rf"\b(?P<kind>{_any(map(re.escape, belief.kinds))})\b"
    text = re.sub(r"(?<=[a-z])-(?=[a-z])", " ", text)
    text = _HUNDREDS.sub(lambda one: str(100 * _CARDINALS.get(one["many"], 1) + _CARDINALS.get(one["rest"], 0)), text)
    text = re.sub(rf"\b[a-z]{{4,}}(?= {kinds})", lambda said: _spelled(said[0]), text)
    text = re.sub(rf"\b(?P<said>{_ORDINAL}(?:{_AND}{_ORDINAL})*){_OF} {kinds}(?!(?:,? ?{_NUMBER})? ?\d)", numbered, text)
    text = re.sub(rf"\b{_NUMBER} ?(?P<said>{_CARDINAL}) {kinds}(?!(?:,? ?{_NUMBER})? ?\d)", numbered, text)
    text = re.sub(rf"(?<!that )(?<!this ){kinds},? the (?P<said>{_ORDINAL})(?: one)?\b(?! time)", numbered, text)
    text = re.sub(
        rf"{kinds}(?P<between>[^.;!?\n]{{0,40}}? )the (?P<said>{_ORDINAL})(?: ones?)?(?= *(?:[.,;!?\n]|$))", again, text
    )
    return re.sub(rf"{kinds}{_CALLED}(?P<said>{_CARDINAL}(?:(?:{_AND}| to ){_CARDINAL})*)", numbered, text)


def _spelled(word: str) -> str:
    """``word``, or the ordinal of which it is a slip: with a letter too many, too few or misplaced. "Their" is no "third"."""
    near = next(iter(get_close_matches(word, (*_ORDINALS, *_IN_ROW, *_FROM_HERE), 1, _MORE_LIKE)), word)
    return word if word in _CARDINALS or (len(near) == len(word) and sorted(near) != sorted(word)) else near


def _meant(said: str, of_kind: str, belief: Belief) -> str:
    row = sorted((one.number, one.contents is None) for one in belief.receptacles if one.kind == of_kind)
    numbers = [number for number, _ in row]
    here = int(belief.at.split()[-1]) if belief.at is not None and kind(belief.at) == of_kind else None
    if said in _IN_ROW:
        meant = numbers[_IN_ROW[said]]
    elif said not in _FROM_HERE:
        digits = re.match(r"\d+", said)
        meant = [int(digits[0]) if digits else (_CARDINALS | _ORDINALS)[said]]
    elif said == "previous":
        meant = [number for number in numbers if here is not None and number < here][-1:]
    elif said == "next":
        meant = [number for number, unseen in row if (unseen if here is None else number > here)][:1]
    else:
        others = [(number, unseen) for number, unseen in row if number != here]
        meant = [number for number, unseen in others if unseen] or [number for number, _ in others]
    return " and ".join(map(str, meant or [_NONE_SUCH]))
