"""Reads requests among people and agents who do chores together, clause by clause, with the forms of sentences.toml.

Names become marks and polite words are left out, so a form is short and fits any thing and place.
`housequest.agent.skills.obliging` carries out these kinds of requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, get_args

from housequest.agent.skills import naming
from housequest.agent.skills.language import grounding, wording
from housequest.worlds.household.base import Household
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.goals import ADJECTIVES, PLACES, Treatment

RequestKind = Literal[
    "follow",
    "come",
    "undo",
    "treat",
    "stay",
    "move",
    "hand",
    "bring",
    "split",
    "split_theirs",
    "been",
    "keep",
    "found",
    "done",
    "put_down",
    "stop",
    "wait",
    "go on",
    "thanks",
    "report",
    "where",
    "who",
    "here",
    "intent",
    "left",
    "nothing",
    "correct",
    "own",
    "chat",
]
REQUEST_KINDS: tuple[RequestKind, ...] = get_args(RequestKind)
_FORMS = wording.lines("requests")
REST = "rest"  # in place of a thing: all the other chores
_TREATMENTS: tuple[Treatment, ...] = ("heat", "cool", "clean")
_AROUND = wording.phrases("around_requests")
_DETERMINERS = _AROUND["determiners"].pattern
_ADJECTIVES: dict[Treatment, str] = {
    "heat": "hot|warm|warmer|heated|warmed|warming|cooked",
    "cool": "cool|cold|colder|cooled|chilled|chilling|chilly",
    "clean": "clean|cleaned|washed|washing|rinsed|rinsing|scrubbed|scrubbing|wash|rinse|scrub",
}
_ANY_ADJECTIVE = "|".join(_ADJECTIVES.values())
_THING = rf"{_DETERMINERS}(?:(?:{_ANY_ADJECTIVE}|dirty|empty|big|small|little|nice) )?(?:T\d+)(?: of T\d+)?(?: of it)?"
_COUNTS = {"both": 2, "two": 2, "2": 2, "three": 3, "3": 3, "four": 4, "4": 4}
_COUNT = re.compile(rf"\b(all|every|{'|'.join(_COUNTS)}) (?:of )?{_THING}")
_PLACE = rf"{_DETERMINERS}(?:(?:whole|entire|rest of the|remaining|other|kitchen|upper|lower) )*(?:P\d+)(?: door)?"
_LIST = rf"{_PLACE}(?:(?:,| and| or|, and|, or| as well as) {_PLACE})*"
_JOINT = re.compile(
    r"(?P<end>[.:;!?\n]+)|,? ?\b(?:and then|and|while|but|then|because|since)\b ?|, ?|(?<=\d)(?: please)? (?=me |i )"
)
_BARE = re.compile(rf"{_DETERMINERS}[PT]\d+")
_THINGS = re.compile(rf"{_THING}(?:(?:,? and|,| as well as) {_THING})+")
_MORE_THINGS = re.compile(rf"{_THING} (?:in|into|on|onto|to|at|over|from|for|with)\b.*")
_INTERJECTION = re.compile(r"(?:oh |no |please )*(?:wait|hold on|hang on|stop)(?: please)?")
_INSTEAD = re.compile(rf",? (?:instead of|rather than) (?:(?:in|into|on|onto|to|at|from) )?{_DETERMINERS}[TP]\d+")
_LATER = re.compile(r"\b(?:after that|afterwards|(?:when(?:ever)?|once|as soon as) you (?:are|have|get) \w+)\b")
_MOMENT = re.compile(r"\b(?:moment|second|sec|minute|bit|while|mo|tick|round|turn)s?\b")


@dataclass(frozen=True, slots=True)
class PlayerRequest:
    """A request, an offer or a report. A name is a kind, or with its number one thing or place; the ``thing`` "it" is the one
    in hand or last mentioned, `REST` all chores that were not
    divided yet, and ``count`` says how many, 0 for all. ``theirs`` are the places that the speaker takes; a
    ``short`` wait is a moment; what is asked for ``later`` comes after the errands so far,
    and an ``other`` thing is none that the speaker has or that an errand is about."""

    kind: RequestKind
    thing: str = ""
    places: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    treatment: Treatment | None = None
    short: bool = False
    count: int = 1
    later: bool = False
    other: bool = False


@dataclass(frozen=True, slots=True)
class _Marked:
    """A text with marks in place of names, and the names."""

    text: str
    things: tuple[str, ...]
    places: tuple[tuple[str, ...], ...]

    def told(self, clause: str) -> str:
        """A clause with the names in place of their marks."""
        names = {"T": self.things, "P": tuple(" and ".join(one) for one in self.places)}
        return re.sub(r"\b([TP])(\d+)", lambda mark: names[mark[1]][int(mark[2])], clause)


def read_requests(text: str, belief: Belief, household: Household) -> tuple[tuple[PlayerRequest, ...], str]:
    """The requests in a text of plain words (`wording.plain`), in order; and an order beside them that was not understood, or
    ""."""
    marked = _marked(text, belief, household)
    whole = re.sub(r"[.;!?\n]+", ",", marked.text).strip(" ,")
    found = _read(whole, marked, "")
    if found is not None and found.kind not in ("nothing", "chat", "own"):
        return tuple(_joined([found])), ""
    each = [*_each(marked)]
    if each and _INTERJECTION.fullmatch(each[0][0]) and any(one for _, one in each[1:]):
        del each[0]
    unread = next((clause for clause, one in each if one is None and _is_about_something(clause)), "")
    return tuple(_joined([one for _, one in each if one is not None])), marked.told(unread)


def _is_about_something(clause: str) -> bool:
    """True unless a clause is chat, or tells only where the speaker is."""
    about = re.search(r"\b[TP]\d", clause) is not None and re.match(r"(?:i|we) (?:am|are)\b", clause) is None
    return about or wording.verb_of(_normal(clause)[0]) is not None


def _each(marked: _Marked) -> Iterator[tuple[str, PlayerRequest | None]]:
    spoken = ""
    for clause in _clauses(marked.text):
        found = _read(clause, marked, spoken)
        if found is None and (several := _THINGS.search(clause)):
            ahead, behind = clause[: several.start()], clause[several.end() :]
            yield from ((clause, _read(f"{ahead}{thing}{behind}", marked, spoken)) for thing in re.findall(r"T\d+", several[0]))
            continue
        yield clause, found
        if found is not None:
            spoken = found.thing or spoken
        elif (mark := re.findall(r"T(\d+)", clause)) and not spoken:
            spoken = marked.things[int(mark[-1])]


def _of_one_thing(found: Sequence[PlayerRequest]) -> Iterator[PlayerRequest]:
    """Requests about a thing in one errand: "take the egg, heat it and put it in the fridge"."""
    ahead: PlayerRequest | None = None
    for one in found:
        same = ahead is not None and one.thing and (ahead.thing, ahead.count) == (one.thing, one.count)
        if ahead is not None and not (same and one.kind in ("treat", "move") and ahead.kind in ("hand", "treat")):
            yield ahead
        treated = same and ahead is not None and ahead.kind == "treat" and one.kind == "move"
        ahead = replace(one, treatment=one.treatment or ahead.treatment) if treated and ahead is not None else one
    if ahead is not None:
        yield ahead


def _joined(found: Sequence[PlayerRequest]) -> Iterator[PlayerRequest]:
    """The requests without doubles, with both sides of a split in one; without chat, if there is anything else."""
    found = [*_of_one_thing(found)]
    kinds = {one.kind for one in found}
    split = [one for one in found if one.kind in ("split", "split_theirs")]
    told = False
    for one in sorted(dict.fromkeys(found), key=lambda one: one.thing == REST):
        if one.kind in ("thanks", "chat", "own") and len(kinds) > 1:
            continue
        if one.kind == "nothing" and one.thing in ("", "it") and len(kinds) > 1:
            continue
        if one.kind == "keep" and "hand" not in kinds and any(each.kind in ("been", "found") for each in found):
            continue
        if one.kind in ("split", "split_theirs"):
            if not told:
                told = True
                mine = tuple(name for each in split for name in each.places)
                yield PlayerRequest("split", places=mine, theirs=tuple(name for each in split for name in each.theirs))
            continue
        yield one


def _clauses(text: str) -> Iterator[str]:
    begin, parts = 0, list[str]()
    for joint in _JOINT.finditer(text):
        rest = text[joint.end() :]
        ahead = text[begin : joint.start()].strip(" ,")
        following = re.split(r"[.;!?\n,]|\band\b|\bor\b", rest)[0].strip()
        if joint["end"] is None and (_BARE.fullmatch(following) or not following):
            continue
        if re.search(r"\bT\d+$", ahead) and _MORE_THINGS.fullmatch(following):
            continue
        if ahead:
            parts.append(ahead)
        begin = joint.end()
    yield from (*parts, *(filter(None, [text[begin:].strip(" ,.!?;")])))


def _marked(text: str, belief: Belief, household: Household) -> _Marked:
    text = grounding.in_names_of_the_house(text, belief)
    known, seen = grounding.known_kinds(belief, household), {item.kind for item in belief.items}
    things, places, parts, at = list[str](), list[tuple[str, ...]](), list[str](), 0
    for named, start, behind in naming.mentions(known, text):
        numbers, end = naming.numbers_after(text, behind)
        named_so = tuple(f"{named} {number}" for number in sorted(numbers)) or (named,)
        place = named in belief.kinds or (named in PLACES and named not in seen and named not in grounding.LAMPS)
        parts += [text[at:start], f"P{len(places)}" if place else f"T{len(things)}"]
        if place:
            places.append(named_so)
        else:
            things.append(named_so[0])
        at = end
    marked = re.sub(r"(?<=[TP])(\d+)'s(?= )", r"\1 is", "".join((*parts, text[at:])))
    return _Marked(re.sub(r"\b([TP]\d+)'?s?(?= is\b)", r"\1", marked), tuple(things), tuple(places))


def _read(clause: str, marked: _Marked, spoken: str) -> PlayerRequest | None:
    text, polite, addressed = _normal(_INSTEAD.sub("", clause))
    tries = [text, *([f"{text} ASKED"] if polite else ()), *([f"YOU {text}"] if addressed else ())]
    tries += [one for form in tries[:1] for one in _finite(form)]
    for kind, forms in _forms().items():
        for form in forms:
            for said in tries:
                if form.fullmatch(said) and (spoken or kind != "hand" or not re.search(r"\b(?:it|that|them)$", said)):
                    return replace(_request(kind, said, marked, spoken), later=_LATER.search(clause) is not None)
    return None


def _finite(text: str) -> Iterator[str]:
    """The text with a first verb in -ing made plain: "would you mind passing me the bowl"."""
    found = re.match(r"([a-z]{2,}?)([a-z])(\2)?ing\b", text)
    if found is not None:
        rest = text[found.end() :]
        yield from (found[1] + found[2] + end + rest for end in ("", "e"))


def _request(kind: RequestKind, said: str, marked: _Marked, spoken: str) -> PlayerRequest:
    things = [marked.things[int(mark)] for mark in re.findall(r"T(\d+)", said)]
    places = [name for mark in re.findall(r"P(\d+)", said) for name in marked.places[int(mark)]]
    pronoun = re.search(r"\b(?:it|that|this|them|those|what you|your hands?)\b", said)
    thing = things[0] if things else (spoken or "it") if pronoun else ""
    if kind == "split_theirs":
        return PlayerRequest(kind, theirs=tuple(places))
    if kind in ("move", "treat"):
        # The last place is where it goes; the others say where it is.
        places = places[-1:] or (["garbagecan"] if kind == "move" else [])
    short = kind == "wait" and _MOMENT.search(said) is not None
    many = _COUNT.search(said) if kind in ("bring", "move", "treat") else None
    count = _COUNTS.get(many[1], 0) if many else 1
    other = re.search(r"\b(?:another|other)\b", said) is not None
    if kind in ("keep", "hand") and not thing:
        thing = REST
    return PlayerRequest(kind, thing, tuple(places), (), _treatment(kind, said), short, count, other=other)


def _treatment(kind: RequestKind, said: str) -> Treatment | None:
    if kind == "treat":
        for one in _TREATMENTS:
            if re.search(rf"\b(?:{wording.verb_pattern(one)})\b", said) or re.search(_adjective(one), said):
                return one
    if kind in ("bring", "move"):
        return next((one for one in _TREATMENTS if re.search(rf"\b(?:{_ADJECTIVES[one]}) T\d", said)), None)
    return None


def _adjective(treatment: Treatment) -> str:
    return rf"\b(?:{_ADJECTIVES[treatment]}|{ADJECTIVES[treatment]}|{treatment}(?:ing|ed|er)?)\b"


def _normal(clause: str) -> tuple[str, bool, bool]:
    """A clause without polite words and the name that it speaks to; True if it had the former, and the latter."""
    text, before, polite, addressed = clause, "", False, False
    text = " ".join(_AROUND["soft"].sub(" ", text).split()).strip(" ,.!?;")
    while text != before:
        before = text
        for pattern, ahead in ((_AROUND["before"], True), (_AROUND["after"], False)):
            found = pattern.match(text) if ahead else pattern.search(text)
            if found is None:
                continue
            rest = (text[found.end() :] if ahead else text[: found.start()]).strip(" ,")
            if not rest:
                continue
            polite = polite or found["polite"] is not None
            addressed = addressed or (ahead and found["you"] is not None)
            text = rest
    return text, polite, addressed


@cache
def _forms() -> dict[RequestKind, tuple[re.Pattern[str], ...]]:
    macros = {name: form for name, _, form in (line.partition(" = ") for line in _FORMS["words"])}
    treated = "|".join(wording.verb_pattern(one) for one in _TREATMENTS)
    macros |= {
        "ACT": "|".join(map(wording.verb_pattern, wording.VERBS)),
        "TREATED": rf"(?:{treated}) (?:THING|it|that|this)(?: up| off| down| out)?(?: (?:in|with|at|using|under|inside) PLACE)?"
        r"(?:,? (?:and|then)(?: then)? (?:bring|give|hand|pass|get) (?:it|that)?(?: over)?(?: to)?(?: me)?(?: it)?(?: here)?)?",
        "TREATING": rf"(?:{_ANY_ADJECTIVE})",
        "PLACES": _LIST,
        "PLACE": _PLACE,
        "THING": _THING,
    }
    marks = re.compile("|".join(rf"\b{name}\b" for name in macros))

    def whole(form: str) -> str:
        while marks.search(form):
            form = marks.sub(lambda found: macros[found[0]], form)
        return form

    return {kind: tuple(re.compile(whole(form)) for form in _FORMS[kind]) for kind in REQUEST_KINDS}
