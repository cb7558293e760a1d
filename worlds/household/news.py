"""News of other players as sentences: written by a shared house, and read into a belief by `heard`.

Only what was seen changes a belief. A place counts as looked into by somebody who stood there if it hides nothing, or if there
was time to open it: whoever has just come to a closed door has seen nothing yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from housequest.worlds.household.belief import NAME, Belief, BeliefBuilder, Heat, Other, names
from housequest.worlds.text import with_article

_TIME_TO_LOOK = 2  # times of hearing, with an open door between them
_WHO, _WHOM = (rf"(?P<{who}>[^\W\d_]{{1,20}})" for who in ("who", "whom"))
_GIFT = re.compile(rf"give (?P<thing>{NAME}) to {_WHOM}")
_VERBS = {
    **{verb: f"{verb}s" for verb in ("open", "close", "grab", "move", "put", "heat", "cool", "clean", "give")},
    **{"pick up": "picks up", "sliced": "slices", "turn on": "turns on"},
    **{f"switch {way}": f"switches {way}" for way in ("on", "off")},
}
_DONE = re.compile(rf"You (?P<verb>{'|'.join(_VERBS)}) (?P<rest>the {NAME}[^.\n]*)\.")


def gift(thing: str, player: str) -> str:
    """The command that gives a thing to a player."""
    return f"give {thing} to {player}"


def read_gift(command: str) -> tuple[str, str] | None:
    """The thing and the player that a command to give names; None for any other text."""
    found = _GIFT.fullmatch(command[:200])
    return (found["thing"], found["whom"]) if found else None


def standing(who: str, room: str, at: str, carried: Sequence[str]) -> str:
    """Tell where somebody is and what it carries; ``at`` is "" in the middle of a room, and a room if the room has a name."""
    where = f"{'in' if at == room else 'at'} the {at}" if at else "in the middle of the room"
    return f"{who} stands {where} and carries {' and '.join(map(with_article, carried)) or 'nothing'}."


def going(who: str, at: str) -> str:
    """Tell where somebody went, in sight."""
    return f"{who} goes to the {at}."


def leaving(who: str) -> str:
    """Tell that somebody can no longer be seen."""
    return f"{who} goes out of sight."


def deed(who: str, answer: str) -> str:
    """Tell what somebody did, from the answer to it and without what that showed; "" if it changed nothing that is seen."""
    found = _DONE.match(answer)
    return f"{who} {_VERBS[found['verb']]} {found['rest']}." if found else ""


def addressed(sentence: str, to: str) -> str:
    """The same sentence for a player whom it may name as the receiver."""
    return re.sub(rf" to {to}\.$", " to you.", sentence)


def heard(belief: Belief, news: Sequence[str]) -> Belief:
    """The belief after a player's turn has brought ``news``; any text at all gives a belief. Call it once in every turn."""
    hearing = _Hearing(belief)
    for sentence in news:
        for pattern, read in _READERS:
            if found := pattern.fullmatch(sentence):
                read(hearing, found)
                break
    return hearing.belief() if news or belief.others else belief


class _Hearing(BeliefBuilder):
    """A belief in the making, with a method for each kind of sentence."""

    def __init__(self, belief: Belief) -> None:
        super().__init__(belief)
        for one in self.others.values():
            self._know(one.name, turns=one.turns + 1)

    def stands(self, found: re.Match[str]) -> None:
        self._comes(found["who"], found["place"])
        self._carries(found["who"], *names(found["carried"]))

    def goes(self, found: re.Match[str]) -> None:
        self._comes(found["who"], found["place"])

    def leaves(self, found: re.Match[str]) -> None:
        self._know(found["who"], at=None, turns=0)

    def takes(self, found: re.Match[str]) -> None:
        self._carries(found["who"], found["thing"], *self._other(found["who"]).carried)

    def puts(self, found: re.Match[str]) -> None:
        thing, place = found["thing"], found["place"]
        self._loses(found["who"], thing)
        there = self.places.get(place)
        self.learn(thing, where=place if there else None)
        if there is not None and there.contents is not None and thing not in there.contents:
            self.change(place, contents=(*there.contents, thing))

    def opens(self, found: re.Match[str]) -> None:
        place, who = found["place"], self._other(found["who"])
        self.change(place, openness="open" if found["how"] == "opens" else "closed")
        if place not in who.looked:
            self.others[who.name] = replace(who, looked=(*who.looked, place))

    def treats(self, found: re.Match[str]) -> None:
        heats: dict[str, Heat] = {"heats": "hot", "cools": "cool"}
        how = found["how"]
        known = {"heat": heats[how]} if how in heats else {"sliced": True} if how == "slices" else {"clean": True}
        self.learn(found["thing"], **known)

    def switches(self, found: re.Match[str]) -> None:
        self.learn(found["thing"], lit=found["how"] == "on")

    def gives(self, found: re.Match[str]) -> None:
        who, whom, thing = found["who"], found["whom"], found["thing"]
        self._loses(who, thing)
        if whom == "you":
            self.hold(thing)
        else:
            self._carries(whom, thing, *self._other(whom).carried)

    def _other(self, who: str) -> Other:
        return self.others.get(who) or Other(who)

    def _know(self, who: str, **known: object) -> None:
        one = replace(self._other(who), **known)
        there = self.places.get(one.at or "")
        if there and (there.openness == "surface" or one.turns >= _TIME_TO_LOOK) and there.name not in one.looked:
            one = replace(one, looked=(*one.looked, there.name))
        self.others[who] = one

    def _comes(self, who: str, place: str | None) -> None:
        if who not in self.others or self.others[who].at != place:
            self._know(who, at=place, turns=0)

    def _carries(self, who: str, *things: str) -> None:
        self._know(who, carried=tuple(dict.fromkeys(things)))
        for thing in things:
            self.learn(thing, where=None)
            for name, place in self.places.items():
                if thing in (place.contents or ()):
                    self.change(name, contents=tuple(one for one in place.contents or () if one != thing))
            for name, item in self.items.items():
                if thing in (item.inside or ()):
                    self.learn(name, inside=tuple(one for one in item.inside or () if one != thing))

    def _loses(self, who: str, thing: str) -> None:
        self._know(who, carried=tuple(one for one in self._other(who).carried if one != thing))


_THING, _PLACE = rf"the (?P<thing>{NAME})", rf"the (?P<place>{NAME})"
_FORMS: tuple[tuple[str, Callable[[_Hearing, re.Match[str]], None]], ...] = (
    (rf"stands (?:(?:in|at) {_PLACE}|in the middle of the room) and carries (?P<carried>[^.\n]*)", _Hearing.stands),
    (rf"goes to {_PLACE}", _Hearing.goes),
    (r"goes out of sight", _Hearing.leaves),
    (rf"(?:picks up|grabs) {_THING}(?: from the {NAME})?", _Hearing.takes),
    (rf"(?:moves|puts) {_THING} (?:to|in|on) {_PLACE}", _Hearing.puts),
    (rf"(?P<how>opens|closes) {_PLACE}", _Hearing.opens),
    (rf"(?P<how>heats|cools|cleans|slices) {_THING} (?:using|with) the {NAME}", _Hearing.treats),
    (rf"(?:turns|switches) (?P<how>on|off) {_THING}", _Hearing.switches),
    (rf"gives {_THING} to {_WHOM}", _Hearing.gives),
)
_READERS = [(re.compile(rf"{_WHO} {form}\."), read) for form, read in _FORMS]
