"""Reads what a person says to somebody who plays in a household: what is to be done, where to look, what is asked.

Rules find the kind of each clause; the names in it are then grounded in what is known of the house, so that "it", "there", "the
other one" and "a drawer" become things and places. A question is never an order, and what cannot be done is refused with its
reason.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from housequest.agent.skills import naming
from housequest.agent.skills.language import grounding, wording
from housequest.agent.skills.language.bans import Ban, forbidden
from housequest.agent.skills.language.requests import PlayerRequest, read_requests
from housequest.worlds.household.base import Commands, Household
from housequest.worlds.household.belief import Belief, Item, kind
from housequest.worlds.household.goals import APPLIANCES

Control = Literal["stop", "wait", "go on", "no", "forget", "undo"]
QuestionKind = Literal[
    "unseen", "told", "state", "why", "how", "turns", "goal", "left", "plan", "holding", "here", "seen", "where", "can", "other"
]
_CONTROL_KINDS: tuple[Control, ...] = get_args(Control)
_QUESTION_KINDS: tuple[QuestionKind, ...] = get_args(QuestionKind)

_CONTROLS = {name: re.compile(rf"(?:{one.pattern}[ ,.!]*)+") for name, one in wording.phrases("controls").items()}
_CHAT = wording.phrases("chat")["chat"]
_QUESTIONS = wording.phrases("questions")
_SHAPES = wording.SHAPES


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All that a sentence is read against: what is known, the world's reader of texts, the goal, the commands so far, and the
    one that an agent has ``proposed``."""

    belief: Belief
    household: Household
    goal: str = ""
    played: tuple[str, ...] = ()
    proposed: str = ""

    @property
    def last(self) -> str:
        """The last command; empty at the beginning."""
        return self.played[-1] if self.played else ""

    @property
    def commands(self) -> Commands:
        """The forms of the world's commands."""
        return self.household.commands


@dataclass(frozen=True, slots=True)
class HopedFor:
    """A thing to take that was not seen yet: its kind, and the ``place`` where it was said to be; empty for any."""

    kind: str
    place: str = ""

    def found(self, belief: Belief) -> Item | None:
        """The thing, once it is seen."""
        return next((one for one in belief.items if one.kind == self.kind and self.place in ("", one.where)), None)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the kind of thing or place, or the name, that it is ``about``; ``besides`` are others to choose from, and
    ``verb`` is that of an order that it speaks of."""

    kind: QuestionKind
    about: str | None = None
    besides: tuple[str, ...] = ()
    verb: str | None = None


@dataclass(frozen=True, slots=True)
class Understood:
    """The meaning of a person's words.

    ``acts`` are commands in order; `Directions` add the walking and opening that they need. ``look`` are places to search, in
    order, ``avoid`` places to leave out, and ``bans`` acts to leave out; ``known`` are things with the place that was given for
    each, and ``wanted`` is a thing to take that was not seen. ``unsaid`` are names about which no earlier words count any more,
    and with ``retracts`` the last hint does not. ``refused`` says why nothing is done; with ``choices`` the person has to say
    which. ``requests`` are those among players.
    """

    said: str
    acts: tuple[str, ...] = ()
    look: tuple[str, ...] = ()
    avoid: frozenset[str] = frozenset()
    bans: tuple[Ban, ...] = ()
    unsaid: frozenset[str] = frozenset()
    retracts: bool = False
    known: tuple[tuple[str, str], ...] = ()
    wanted: HopedFor | None = None
    question: Question | None = None
    control: Control | None = None
    chat: bool = False
    refused: str | None = None
    choices: tuple[str, ...] = ()
    requests: tuple[PlayerRequest, ...] = ()

    @property
    def empty(self) -> bool:
        """True if nothing at all was read."""
        return self == Understood(self.said)


@dataclass
class _Told:
    """All that the clauses so far have said, for the pronouns of the next one."""

    scene: Surroundings
    acts: list[str] = field(default_factory=list[str])
    hints: list[str] = field(default_factory=list[str])
    thing: str | None = None
    place: str | None = None
    refused: str | None = None
    wanted: HopedFor | None = None
    choices: tuple[str, ...] = ()
    taken: list[str] = field(default_factory=list[str])
    asked_last: bool = False

    def name(self, command: str) -> None:
        """Have pronouns mean the thing and the place of a command."""
        for name in grounding.names_of(command):
            self.thing, self.place = (self.thing, name) if name in self.scene.belief.places else (name, self.place)


def read(
    said: str, scene: Surroundings, *, player: bool = False, spoken_of: str | None = None, company: bool = False
) -> Understood:
    """Read what a person says.

    Args:
        said: Any text at all.
        scene: What it is read against.
        player: True if the person plays, so that a bare place is one to go to; False if an agent is told where to look.
        spoken_of: The thing or place last mentioned, which "it" and "there" mean.
        company: True if one player says it to another; then it may be one of the ``requests``.

    Returns:
        The reading, without what was not understood.
    """
    text = wording.spelled(wording.plain(said), scene.belief, grounding.known_kinds(scene.belief, scene.household))
    if company and _is_why_not(text):
        return Understood(said, question=Question("why", _about(text, _Told(scene))))
    if company:
        asked, unread = read_requests(text, scene.belief, scene.household)
        if asked:
            return Understood(said, requests=asked, refused=f'I do not understand "{unread}".' if unread else None)
    whole = text.strip(" .,!?;")
    if (back := _SHAPES["taken_back"].fullmatch(whole)) and (unsaid := _names_in(back["about"] or back["again"], scene)):
        return Understood(said, unsaid=unsaid)
    if _SHAPES["retracted"].fullmatch(wording.bare(whole)):
        return Understood(said, retracts=True)
    parts = [part for part, _ in wording.clauses(text)] or [whole]
    controls: list[Control | None] = [None if _is_dropped(part, scene, player=player) else _control(part) for part in parts]
    first: Control | None = next(filter(None, controls), None)
    if first is not None and all(one or _CHAT.fullmatch(part) for one, part in zip(controls, parts, strict=True)):
        return Understood(said, control=first)
    if (control := _control(whole)) is not None and controls != [None]:
        return Understood(said, control=control)
    if _CHAT.fullmatch(whole):
        return Understood(said, chat=True)
    told, reading = _Told(scene), Understood(said)
    if spoken_of is not None:
        told.thing, told.place = (None, spoken_of) if spoken_of in scene.belief.places else (spoken_of, None)
    told.name(scene.proposed or (scene.last if player and spoken_of is None else ""))
    for clause, asked in wording.clauses(text):
        reading = _clause(clause, asked, told, reading, player)
    if reading.question is not None and (told.asked_last or not told.acts):
        return Understood(said, question=reading.question)
    reading = _hinted(reading, ". ".join(told.hints), scene, player=player, told=told)
    acts = tuple(told.acts)
    read_some = bool(acts or reading.look or reading.known or reading.avoid or reading.bans)
    if told.refused and not read_some:
        return Understood(said, refused=told.refused, choices=told.choices, wanted=told.wanted)
    control = None if read_some else reading.control
    return replace(reading, acts=acts, question=None, control=control, refused=told.refused, chat=False, wanted=told.wanted)


def _is_why_not(text: str) -> bool:
    """True if "why not the fridge?" asks for a reason; "why not bring it?" asks for an act."""
    found = _SHAPES["why_not"].match(text)
    verb = None if found is None else wording.verb_of(wording.bare(text[found.end() :]))
    return found is not None and (verb is None or verb[0] in ("go", "search", "examine"))


def _control(text: str) -> Control | None:
    bare = wording.bare(text)
    # "No, stop" means stop.
    more = wording.bare(re.sub(r"^(?:(?:no+|oh|bother|pray|please|would|you|kindly)\b[ ,!]*)+(?=\w)", "", text))
    for name in _CONTROL_KINDS:
        if any(_CONTROLS[name].fullmatch(one) for one in (text, bare, more)):
            return name
    return None


def _is_dropped(text: str, scene: Surroundings, *, player: bool) -> bool:
    """True if "drop it" comes from a player who holds something; others take back their words by it."""
    return player and scene.belief.held is not None and re.fullmatch(r"drop (?:it|that|this)", text) is not None


def _clause(clause: str, asked: bool, told: _Told, reading: Understood, player: bool) -> Understood:
    """Read one clause into ``told``, or as a question or a word to stop into ``reading``."""
    clause = wording.joined(clause)
    bare = wording.bare(clause)
    control = None if _is_dropped(clause, told.scene, player=player) else _control(clause)
    if not bare or (control is None and _CHAT.fullmatch(clause)):
        return reading
    back = control == "undo" or _SHAPES["back"].search(bare) is not None
    if back and (acts := undone(told.scene)):
        told.acts += acts
        return reading
    if control is not None:
        return replace(reading, control=reading.control or control)
    if (question := _question(clause, bare, asked)) is not None:
        told.asked_last = True
        verb = wording.verb_of(_ASKED.sub("", question[1])) or (None,)
        return replace(reading, question=reading.question or Question(question[0], _about(question[1], told), verb=verb[0]))
    if asked and (wonders := _wonders(clause, bare, told)) is not None:
        told.asked_last = True
        return replace(reading, question=reading.question or wonders)
    told.asked_last = False
    if (beyond := wording.is_beyond(bare)) is not None:
        told.refused = told.refused or f"I cannot {beyond} here."
        return reading
    other = _SHAPES["other"].fullmatch(bare) is not None and not told.acts
    if not other and _SHAPES["no"].match(bare):
        return _denied(clause, bare, told, reading)
    if _named(clause, bare, told, player=player, no=reading.control == "no"):
        return reading
    if (_SHAPES["corrected"].search(clause) or reading.control == "no" or other) and _again(clause, told):
        return replace(reading, control=None)
    told_of = _SHAPES["guessed"].search(clause) or (not player and _SHAPES["report"].match(clause))
    verb = None if told_of and not player else wording.verb_of(bare)
    verb = verb or (None if told_of else wording.verb_within(bare))
    if verb is None or (verb[0] == "search" and not player) or not _order(*verb, told, player=player):
        _hint(clause, told)
    return reading


def _denied(clause: str, bare: str, told: _Told, reading: Understood) -> Understood:
    """Read a clause with a no as acts or places to leave out."""
    scene = told.scene
    ground = grounding.Grounder(scene.belief, scene.household, told.thing, told.place, told.taken)
    goals = scene.household.read_goals(scene.goal, scene.belief.kinds)
    bans = forbidden(bare, ground, goals)
    about = next(filter(None, (ban.thing for ban in bans)), None)
    told.thing = told.thing if about is None else next(iter(ground.alike(about)), told.thing)
    if not bans or any(ban.verb in ("open", "use", "touch") and not ban.thing and ban.place for ban in bans):
        _hint(clause, told)
    return replace(reading, bans=(*reading.bans, *bans))


def _named(clause: str, bare: str, told: _Told, *, player: bool, no: bool) -> bool:
    """Read a clause without a verb as an order: "the mug", "into the fridge", "I need a spoon"."""
    if (needed := wording.needed(clause)) and _order("take", needed, told, player=player) and (told.acts or told.refused):
        return True
    if told.acts and re.match(r"(?:in|into|inside|on|onto)\b", bare) and _order("put", f"it {bare}", told, player=player):
        return True
    named = [*grounding.mentions(bare, told.scene.belief, told.scene.household)]
    if player and len(named) == 2 and not named[0].is_place and named[1].is_place and named[1].role in grounding.TO:
        return wording.verb_of(bare) is None and wording.verb_within(bare) is None and _order("put", bare, told, player=True)
    alone = grounding.alone(bare, told.scene.belief, told.scene.household)
    if alone is None or no:
        return False
    if alone.is_place:
        return player and _order("go", bare, told, player=True)
    return grounding.is_seen(alone, told.scene.belief) and _order("take", bare, told, player=player)


def _hint(clause: str, told: _Told) -> None:
    """Keep a clause that is no order, and what it speaks of for the pronouns after it."""
    clause = _SHAPES["suggested"].sub("", clause)
    if told.place is not None:
        # "That drawer" is the one spoken of.
        clause = re.sub(rf"\b(?:this|that) {kind(told.place)}\b(?! \d)", told.place, clause)
    told.hints.append(clause)
    _speak_of(clause, told)


def _speak_of(clause: str, told: _Told) -> None:
    scene = told.scene
    named = [*grounding.mentions(grounding.in_names_of_the_house(clause, scene.belief), scene.belief, scene.household)]
    places = {one.kind for one in named if one.is_place}
    near = [one.name for one in scene.belief.receptacles if one.kind in places]
    told.place = near[0] if len(near) == 1 else told.place
    for one in named:
        if one.is_place:
            continue
        found = [item for item in scene.belief.items if one.means(item.name)]
        found.sort(key=lambda item: kind(item.where or "") not in places)
        told.thing = found[0].name if found else told.thing


def _again(clause: str, told: _Told) -> bool:
    """Do the last command once more, for the thing or place that a person names in place of its own."""
    scene, last = told.scene, told.scene.proposed or told.scene.last
    verb = grounding.verb_of(last, scene.commands)
    names = [one.name for one in scene.belief.receptacles]
    text = grounding.in_names_of_the_house(clause, scene.belief)
    denied = naming.denied_places(names, text)
    named = [*grounding.mentions(text, scene.belief, scene.household)]
    right = [one for one in named if not (one.is_place and any(map(one.means, denied)))]
    bare = wording.bare(clause)
    if verb is not None and not right and _SHAPES["other"].fullmatch(bare):
        # "The other one" is another than that of the command.
        told.name(last)
        return _order(verb, "the other one", told, player=True)
    if verb is None or not right or wording.verb_of(bare) is not None or wording.verb_within(bare) is not None:
        return False
    if not right[0].is_place and verb == "go":
        if not re.search(r"\bother\b", clause):
            return False
        return _order("take", f"the other {right[0].kind}", told, player=True)
    return _order(verb, right[0].said if not right[0].other else f"other {right[0].said}", told, player=True)


_ASKED = re.compile(r"^.*?\b(?:i|we|you|one|to)\b (?:(?:allowed|able|supposed|going) to )?(?=\w)")
"""The words before the verb of "how do I open it"."""
_WITHOUT_A_MARK: tuple[QuestionKind, ...] = ("told", "turns", "goal", "left", "how")
"""Questions that no other words begin like."""


def _question(clause: str, bare: str, asked: bool) -> tuple[QuestionKind, str] | None:
    """The kind of a question, and its text without the words around it; None for what is no question."""
    if _SHAPES["suggests"].match(clause):
        return None
    polite = _SHAPES["asking"].match(clause)
    text = clause[polite.end() :] if polite else clause
    telling = polite is not None and _SHAPES["telling"].search(polite[0]) is not None
    if not text:
        return None
    text = _SHAPES["adverbs"].sub("", text)
    bare = _SHAPES["adverbs"].sub("", bare) if asked else text
    begins = any(_SHAPES["asks"].match(one) for one in (text, bare)) or telling or _QUESTIONS["how"].match(text)
    if not begins and not (asked and _SHAPES["asked"].match(text)):
        first: QuestionKind | None = next((name for name in _WITHOUT_A_MARK if _QUESTIONS[name].match(text)), None)
        return None if first is None else (first, "")
    text = text if _SHAPES["asks"].match(text) or not _SHAPES["asks"].match(bare) else bare
    order = wording.verb_of(wording.bare(text))
    if not asked and order is not None and not _SHAPES["asks"].match(text) and not telling:
        return None
    found: QuestionKind | None = next(
        (name for name in _QUESTION_KINDS if name in _QUESTIONS and _QUESTIONS[name].match(text)), None
    )
    if found is None and not (asked or telling or re.match(r"(?:who|whose|when)\b", text)):
        return None
    return found or "other", text


def read_alone(said: str) -> Understood:
    """The meaning of words that speak of no house: they steer, chat or ask; else nothing."""
    text = wording.plain(said)
    whole = text.strip(" .,!?;")
    if (control := _control(whole)) is not None or _CHAT.fullmatch(whole):
        return Understood(said, control=control, chat=control is None)
    for clause, asked in wording.clauses(text):
        joined = wording.joined(clause)
        if (question := _question(joined, wording.bare(joined), asked)) is not None:
            return Understood(said, question=Question(question[0]))
    return Understood(said)


def _wonders(clause: str, bare: str, told: _Told) -> Question | None:
    """A question without a verb, such as "the fridge or the microwave?", or "going to the fridge?"; None for a suggestion."""
    text = grounding.in_names_of_the_house(clause, told.scene.belief)
    named = [*grounding.mentions(text, told.scene.belief, told.scene.household)]
    doing = _SHAPES["doing"].match(clause)
    if not named or _SHAPES["suggests"].match(clause) or _SHAPES["wish"].search(clause):
        return None
    alone = _SHAPES["names"].fullmatch(re.sub("|".join(rf"\b{one.kind}s?\b" for one in named), "", text)) is not None
    if not (alone or doing) and (wording.verb_of(bare) or wording.verb_within(bare)):
        return None
    _speak_of(clause, told)
    first, *others = dict.fromkeys(one.said for one in named)
    return Question("plan" if doing else "seen", first, tuple(others))


def _names_in(text: str, scene: Surroundings) -> frozenset[str]:
    """All names in a text."""
    belief = scene.belief
    named = list(grounding.mentions(grounding.in_names_of_the_house(text, belief), belief, scene.household))
    names = (*belief.places, *(item.name for item in belief.items))
    return frozenset(name for name in names if any(one.means(name) for one in named))


def _about(text: str, told: _Told) -> str | None:
    """The thing or place that a question is about: a thing rather than a place."""
    scene = told.scene
    text = grounding.in_names_of_the_house(text, scene.belief)
    found = sorted(grounding.mentions(text, scene.belief, scene.household), key=lambda one: one.is_place)
    if found:
        return found[0].said
    if _OF_A_PLACE.search(text):
        return told.place or scene.belief.at
    if re.search(r"\b(?:it|that|this|them)\b", text) and (scene.belief.held or told.thing):
        return scene.belief.held or told.thing
    unknown = _UNKNOWN.search(text)
    return None if unknown is None else unknown[1]


_OF_A_PLACE = re.compile(r"\b(?:in|inside|on) (?:it|that|this|there)\b|\b(?:it|that|this) (?:open|closed|shut|empty|full)\b")
_UNKNOWN = re.compile(
    r"\b(?:where (?:is|are|was|were)|(?:is|are) there) (?:the|an?|any|some|my|another) "
    r"(?!(?:thing|other|one|more|way)\b)([a-z]{3,})"
)
"""Asks for something of a kind that no house has."""


def _order(verb: str, rest: str, told: _Told, *, player: bool) -> bool:
    """Ground an order; False if its names say nothing, so that it may be a hint."""
    ground = grounding.Grounder(told.scene.belief, told.scene.household, told.thing, told.place, told.taken)
    acts = ground.acts(verb, rest, player=player)
    told.thing, told.place = ground.thing, ground.place
    if acts is None:
        return False
    put = told.acts[-1] if told.acts and acts and verb in APPLIANCES else ""
    if grounding.verb_of(put, told.scene.commands) == "put" and grounding.names_of(put) == grounding.names_of(acts[-1]):
        # To bring it to the microwave and heat it is one act; what was put there is no longer in hand.
        told.acts.pop()
    told.acts += [one for one in acts if told.acts[-1:] != [one]]
    unseen = grounding.UNSEEN_THING.fullmatch(ground.refused or "")
    if verb == "take" and unseen is not None and told.refused is None:
        told.wanted = HopedFor(kind(unseen[1]), unseen[2] or "")
    told.refused = told.refused or ground.refused
    told.choices = told.choices or ground.choices
    return True


def undone(scene: Surroundings) -> list[str]:
    """The command that takes back the last one; none if that cannot be told."""
    commands, last = scene.commands, scene.last
    held = scene.belief.held
    if held is not None:
        # What is held goes back to where it was taken, whatever was done since.
        played = scene.played
        take = commands.take.split()[0]
        at = next((at for at in reversed(range(len(played))) if held in played[at] and played[at].startswith(take)), None)
        if at is None:
            return []
        places = scene.belief.places
        before = reversed(grounding.names_of(" ".join(played[:at])))
        there = next((one for one in before if one in places), None)
        place = next((one for one in grounding.names_of(played[at]) if one in places), there)
        return [] if place is None else [grounding.put(held, place, scene.belief, commands)]
    words = grounding.names_of(last)
    if last.startswith(("open ", "close ")):
        verb, _, name = last.partition(" ")
        return [f"{'close' if verb == 'open' else 'open'} {name}"]
    if len(words) == 2 and last == commands.take.format(thing=words[0], place=words[1]):
        return [grounding.put(words[0], words[1], scene.belief, commands)]
    if len(words) == 2 and any(last == one.format(thing=words[0], place=words[1]) for one in commands.puts):
        return [commands.take.format(thing=words[0], place=words[1])]
    return []


def _hinted(reading: Understood, text: str, scene: Surroundings, *, player: bool, told: _Told) -> Understood:
    """Add what the clauses that are no orders say of places."""
    if not text:
        return reading
    belief = scene.belief
    text = grounding.in_names_of_the_house(text, belief)
    names = [one.name for one in belief.receptacles]
    places, avoided = tuple(dict.fromkeys(naming.named_places(names, text))), naming.denied_places(names, text)
    missing = grounding.missing_place(text, belief)
    if missing and not places and not avoided:
        told.refused = told.refused or missing
        return reading
    if len(places) > 1:
        # Of several of a kind, those that were searched are left out; one that is named alone is meant.
        unseen, kinds = {one.name for one in belief.unsearched}, Counter(map(kind, places))
        places = tuple(one for one in places if one in unseen or kinds[kind(one)] == 1) or places
    things = [one for one in grounding.mentions(text, belief, scene.household) if not one.is_place]
    if things and len(places) == 1 and not _SHAPES["hedged"].search(text) and _SHAPES["stated"].search(text) and not player:
        return replace(reading, known=((things[0].said, places[0]),), avoid=avoided)
    if player:
        reading = replace(reading, avoid=avoided)
        told.acts += [scene.commands.go.format(place=places[0])] if places and not told.acts else []
        return reading
    return replace(reading, look=places, avoid=avoided)
