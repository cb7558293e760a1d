"""Carries out the requests of other players, and answers in a sentence, for the expert and the built-in model.

It obeys people; from agents it takes in only reports and offers. If it cannot do something, it says why, and that costs no
turn. Among several things or places it chooses the nearest, and names its number. The newest request counts. A `Partnership`
keeps what was asked as plain data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from housequest.agent.base import Turn
from housequest.agent.skills.errands import RunningErrand, appliance, nearest, spare_place
from housequest.agent.skills.language import grounding, sentences
from housequest.agent.skills.language.answers import Mind, answer
from housequest.agent.skills.language.requests import PlayerRequest, RequestKind
from housequest.agent.skills.language.sentences import Surroundings, Understood
from housequest.agent.skills.partnership import Obliged, Partnership, settled, telling
from housequest.worlds.household.arrangement import NOTHING_ARRANGED, Arrangement, PlayerErrand
from housequest.worlds.household.belief import Belief, by_name, kind
from housequest.worlds.household.goals import ADJECTIVES, APPLIANCES, Goal, Treatment
from housequest.worlds.household.talk import read_quoted, read_talk
from housequest.worlds.shared import WAIT
from housequest.worlds.text import cut_at_word, plural_of, with_article

LONGEST_ANSWER = 200  # characters
MOMENT = 3  # rounds of "a second"
_OPENS = 0.5  # If at least this share of a kind of place can be opened, try one.
_CAN: dict[Treatment, str] = {"heat": "heatable", "cool": "coolable", "clean": "cleanable"}
_UNCLEAR = 'I do not understand that; say it in other words, such as "bring me the bowl".'
_FACTS: frozenset[RequestKind] = frozenset({"been", "found", "done", "keep"})
"""The requests that count from everybody."""
_OF_GOALS: frozenset[RequestKind] = frozenset({"keep", "hand", "done"})
_OF_PLACES: frozenset[RequestKind] = frozenset({"split", "been"})
_CONTROLS: dict[sentences.Control, RequestKind] = {
    "stop": "stop",
    "wait": "wait",
    "go on": "go on",
    "undo": "undo",
    "no": "stop",
}


def heed(
    partnership: Partnership,
    turn: Turn,
    scene: Surroundings,
    doing: Callable[[Arrangement], str],
    *,
    divides: bool = True,
) -> tuple[Partnership, tuple[str, ...]]:
    """Take in what others said.

    Args:
        partnership: The memory of this turn.
        turn: The turn; its news tell what was said.
        scene: The context in which the words are read.
        doing: Says what the player would do now under an arrangement.
        divides: True if it follows arrangements of who does what and looks where; else it says that it does not.

    Returns:
        The new memory, and the answers.
    """
    answers = list[str]()
    for who, said in filter(None, map(read_quoted, turn.news)):
        if who not in turn.others:
            continue
        if (message := read_talk(said)) is not None:
            partnership = telling(partnership, who, message, scene)
            continue
        if re.fullmatch(rf"I follow {re.escape(turn.player)}\.", said):
            partnership = replace(partnership, followers=partnership.followers | {who})
            continue
        if (to_me := _addressed(said, turn)) is None:
            continue
        obeyed = who in turn.obeyed
        reading = sentences.read(to_me, scene, company=True)
        heeding = _Heeding(partnership, scene, who, turn.others, doing, divides)
        told = tuple(heeding.all(reading)) if obeyed else heeding.facts(reading)
        partnership = heeding.partnership
        if obeyed and (answered := " ".join(filter(None, told))):
            answers.append(cut_at_word(answered, LONGEST_ANSWER))
    return partnership, tuple(answers)


def _addressed(said: str, turn: Turn) -> str | None:
    """The words without the name that they begin or end with; None if it is somebody else's."""
    for name in (turn.player, *turn.others):
        text = re.sub(rf"^(?:hey |hi |ok )?{name}\b[,:;!]? ?|[, ]+{name}\b[.!?]*$", "", said, flags=re.IGNORECASE)
        if text != said and text:
            return text if name == turn.player else None
    return said


def oblige(partnership: Partnership, scene: Surroundings) -> Obliged:
    """The next command of a request, if there is any to carry out before the chores."""
    arrangement, says = partnership.arrangement, list[str]()
    if arrangement.mode == "stay":
        # Afterwards, it goes on with what it was doing.
        left = None if arrangement.rounds is None else arrangement.rounds - 1
        arrangement = replace(arrangement, rounds=left or None, mode="work" if left == 0 else "stay")
        return Obliged(replace(partnership, arrangement=arrangement), WAIT)
    while arrangement.errands:
        first, *others = arrangement.errands
        done = RunningErrand(first, scene, partnership).next()
        says += done.says
        errands = (*((done.errand,) if done.errand is not None else ()), *others)
        kept = arrangement.kept | ({done.kept} if done.kept else set[str]())
        arrangement = replace(arrangement, errands=errands, kept=kept)
        if done.errand is None and first.several:
            errands = tuple(replace(one, besides=(*one.besides, first.thing)) if one.several else one for one in others)
            arrangement = replace(arrangement, errands=errands)
        if done.errand is None and first.stays and done.reached:
            waiting = replace(arrangement, mode="stay", rounds=None)
            return Obliged(replace(partnership, arrangement=waiting), WAIT, tuple(says))
        if done.command is not None:
            return Obliged(replace(partnership, arrangement=arrangement), done.command, tuple(says))
    command = _after(arrangement.whom, scene) if arrangement.mode == "follow" else None
    return Obliged(replace(partnership, arrangement=arrangement), command, tuple(says))


def _after(whom: str, scene: Surroundings) -> str:
    at = next((one.at for one in scene.belief.others if one.name == whom), None)
    if at is None or scene.belief.is_here(at) or at not in scene.belief.places:
        return WAIT
    return scene.commands.go.format(place=at)


def _the(named: str, belief: Belief) -> str:
    """A thing or place in a sentence: "the cabinets", "the fridge", "drawer 2"."""
    if named != kind(named):
        return named
    alike = sum(one.kind == named for one in belief.receptacles)
    return f"the {plural_of(named) if alike > 1 else named}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else "nothing"


@dataclass(slots=True)
class _Heeding:
    """The words of one player, and the memory that they change."""

    partnership: Partnership
    scene: Surroundings
    who: str
    others: tuple[str, ...]
    doing: Callable[[Arrangement], str]
    divides: bool = True
    goals: tuple[Goal, ...] = ()
    started: int = 0
    besides: tuple[str, ...] = ()  # the things that the current request, which asks for several, already has
    ways: dict[RequestKind, Callable[[PlayerRequest], str]] = field(
        default_factory=dict[RequestKind, "Callable[[PlayerRequest], str]"]
    )

    def __post_init__(self) -> None:
        self.goals = self.scene.household.read_goals(self.scene.goal, self.belief.kinds)
        self.ways = {
            "split": self._split,
            "keep": self._keep,
            "hand": self._hand,
            "bring": self._bring,
            "move": self._move,
            "treat": self._treat,
            "stay": self._stay,
            "come": self._come,
            "follow": self._follow,
            "undo": self._undo,
            "put_down": self._put_down,
            "stop": self._stop,
            "wait": self._wait,
            "go on": self._go_on,
            "been": self._been,
            "found": self._found,
            "done": self._done,
            "nothing": self._not,
            "report": self._report,
            "where": self._where,
            "intent": self._intent,
            "left": self._left,
            "thanks": lambda _: "Gladly.",
            "chat": lambda _: "",
        }

    @property
    def belief(self) -> Belief:
        return self.scene.belief

    @property
    def arrangement(self) -> Arrangement:
        return self.partnership.arrangement

    def _arrange(self, **changed: object) -> None:
        self.partnership = replace(self.partnership, arrangement=replace(self.arrangement, **changed))

    def facts(self, reading: Understood) -> tuple[str, ...]:
        """Take in only reports and offers."""
        return tuple(map(self._take_in, (one for one in reading.requests if one.kind in _FACTS)))

    def _take_in(self, request: PlayerRequest) -> str:
        if request.kind in _OF_GOALS and not (self.divides and self.goals):
            return "I cannot divide this task between us, so I go on with all of it."
        if request.kind in _OF_PLACES and not self.divides:
            return "I cannot divide the search here, so I look where I think best."
        return self.ways[request.kind](request)

    def _several(self, request: PlayerRequest) -> Iterator[str]:
        """Take in a request once for each thing that it is about, until one cannot be done."""
        alike = sum(request.thing in (item.name, item.kind) for item in self.belief.items)
        said = ""
        for _ in range(request.count or max(1, alike)):
            before = self.arrangement.errands
            answer = self._take_in(replace(request, count=1))
            yield "" if answer == said else answer
            said = answer
            if request.count == 1 or self.arrangement.errands == before:
                return
            *others, last = self.arrangement.errands
            self._arrange(errands=(*others, replace(last, besides=self.besides, several=True)))
            self.besides = (*self.besides, last.thing)
        if not request.count:
            yield f"I know of no other {kind(request.thing)}."

    def all(self, reading: Understood) -> Iterator[str]:
        """Take in and answer everything."""
        if reading.requests:
            for request in reading.requests:
                self.besides = ()
                yield from self._several(request)
            yield reading.refused or ""
        elif reading.question is not None:
            yield self._asked(reading)
        elif reading.control == "forget":
            self._arrange(
                **{name: getattr(NOTHING_ARRANGED, name) for name in ("mine", "theirs", "first", "avoided", "kept", "errands")}
            )
            yield "I forget what we arranged."
        elif reading.control is not None:
            kind_of = _CONTROLS[reading.control]
            yield self.ways[kind_of](PlayerRequest(kind_of))
        elif reading.chat:
            yield "Gladly."
        elif reading.refused is not None:
            yield reading.refused
        elif reading.acts:
            yield self._ordered(reading.acts)
        elif reading.avoid:
            yield self._take_in(PlayerRequest("been", places=tuple(sorted(reading.avoid, key=by_name))))
        elif reading.known:
            thing, place = reading.known[0]
            yield self._found(PlayerRequest("found", thing, (place,)))
        elif reading.look:
            yield self._take_in(PlayerRequest("split", places=reading.look))
        else:
            yield _UNCLEAR

    # Errands.

    def _send(self, errand: PlayerErrand, *, ahead: str = "") -> str:
        """Take on an errand: drop another request's, and first put down what is in the hand."""
        dropped = self.arrangement.errands[self.started :] if not self.started else ()
        errands = (*self.arrangement.errands[: self.started], errand)
        self.started = len(errands)
        kept = self.arrangement.kept - {name for name in self.arrangement.kept if errand.thing in (name, kind(name))}
        self._arrange(errands=errands, mode="work", whom="", rounds=None, kept=kept)
        held = self.belief.carried
        fetches = errand.thing and not any(errand.thing in (name, kind(name)) for name in held)
        first = f" First I put down {held[-1]}." if fetches and len(held) >= self.belief.hands else ""
        instead = f' I drop the other errand ("{dropped[0].said.rstrip(".")}").' if dropped else ""
        return f"{ahead}{errand.said}{first}{instead}"

    def _meant(self, said: str) -> str:
        """The name of the thing, or its kind if none was seen yet; "" if "it" means nothing."""
        if said != "it":
            item = nearest(said, self.belief, self.arrangement.kept, self.besides)
            return said if item is None else item.name
        if self.belief.carried:
            return self.belief.carried[0]
        return self.partnership.origins[-1][0] if self.partnership.origins else ""

    def _hindrance(self, request: PlayerRequest, name: str) -> str:
        """The reason why a thing cannot be fetched; "" if there is none."""
        if not name:
            return "I do not know which thing you mean."
        for one in self.belief.others:
            if name in one.carried or (name == kind(name) and name in map(kind, one.carried)):
                what = next(thing for thing in one.carried if name in (thing, kind(thing)))
                return f"You carry {what} yourself." if one.name == self.who else f"{one.name} carries {what}."
        if self.belief.item(name) is None and not self.belief.unsearched:
            return f"I have looked everywhere and seen no {name}."
        return self._wanted_there(request, name)

    def _wanted_there(self, request: PlayerRequest, name: str) -> str:
        item = self.belief.item(name)
        where = item.where if item is not None else None
        met = where is not None and any(
            goal.object == kind(name)
            and goal.receptacle == kind(where)
            and (goal.treatment is None or (item is not None and item.treated(goal.treatment)))
            for goal in self.goals
        )
        if not met or self.partnership.insisted == request:
            return ""
        self.partnership = replace(self.partnership, insisted=request)
        return f"{name} is at {where}, where our chores want it; say it again if I should take it away."

    def _untreatable(self, name: str, treatment: Treatment | None) -> str:
        if treatment is None:
            return ""
        known = self.scene.household.counts().can.get(kind(name))
        if self.scene.commands.treat is None:
            return f"There is no way to {treatment} things in this house."
        if known is not None and _CAN[treatment] not in known:
            return f"{with_article(kind(name)).capitalize()} cannot be made {ADJECTIVES[treatment]}."
        if appliance(treatment, self.belief) is None:
            return f"Only a {APPLIANCES[treatment]} can {treatment} things, and there is none here."
        return ""

    def _called(self, name: str) -> str:
        return name if name != kind(name) else f"the {name}"

    def _unseen(self, name: str) -> str:
        if self.belief.item(name) is not None:
            return ""
        return f"I have not seen {f'another {name}' if self.besides else with_article(kind(name))} yet; "

    def _bring(self, request: PlayerRequest) -> str:
        name = self._meant(request.thing)
        why = self._hindrance(request, name) or self._untreatable(name, request.treatment)
        if why:
            return why
        found = self._unseen(name)
        treat = f"{request.treatment} {'it' if found else self._called(name)} and " if request.treatment else ""
        bring = f"bring {'it' if treat or found else self._called(name)} to you"
        said = (
            f"{found}I look for it, {treat}{bring}."
            if treat and found
            else f"{found}I {'look for it and ' if found else ''}{treat}{bring}."
        )
        return self._send(PlayerErrand(said, name, request.treatment, whom=self.who))

    def _treat(self, request: PlayerRequest) -> str:
        name, treatment = self._meant(request.thing), request.treatment or "clean"
        item = self.belief.item(name)
        if item is not None and item.treated(treatment) and item.name in self.belief.carried:
            return self._bring(replace(request, kind="bring"))
        return self._bring(replace(request, kind="treat", treatment=treatment))

    def _place(self, said: str) -> tuple[str, str]:
        """The place, or the reason why there is none."""
        if (missing := self._missing((said,))) is not None:
            return "", missing
        if said in self.belief.places:
            return said, ""
        alike = [one for one in self.belief.receptacles if one.kind == said]
        return min(alike, key=lambda one: (not self.belief.is_here(one.name), one.number)).name, ""

    def _missing(self, places: Sequence[str]) -> str | None:
        for said in places:
            if kind(said) not in self.belief.kinds:
                return f"There is no {kind(said)} here."
            if said != kind(said) and said not in self.belief.places:
                return grounding.no_such_place(said, self.belief)
        return None

    def _move(self, request: PlayerRequest) -> str:
        name = self._meant(request.thing)
        place, why = self._place(request.places[0]) if request.places else ("", "I do not know where.")
        item = self.belief.item(name)
        if why:
            return why
        if item is not None and item.where is not None and item.where in (place, request.places[0]):
            return f"That is done already: {name} is at {place}."
        if item is not None and item.where is not None and kind(item.where) == request.places[0]:
            return f"That is done already: {name} is at {item.where}."
        if name and not self.scene.household.counts().takes(place, name):
            return f"{with_article(kind(name)).capitalize()} does not go into {with_article(kind(place))}."
        if why := self._hindrance(request, name) or self._untreatable(name, request.treatment):
            return why
        found = self._unseen(name)
        does = f"look for it and put it on {place}" if found else f"put {self._called(name)} on {place}"
        return self._send(PlayerErrand(f"{found}I {does}.", name, request.treatment, place))

    def _ordered(self, acts: Sequence[str]) -> str:
        """Read orders: the last command says what they are about."""
        act = acts[-1]
        named = grounding.names_of(act)
        commands = self.scene.commands
        if named and act == commands.go.format(place=named[0]):
            return self._send(PlayerErrand(f"I go to {named[0]}.", place=named[0]))
        if named and act.startswith(commands.take.split()[0]) and self.belief.item(named[0]) is not None:
            why = self._hindrance(PlayerRequest("bring", named[0]), named[0])
            return why or self._send(PlayerErrand(f"I take {named[0]}.", named[0]))
        if len(named) == 2 and act in [pattern.format(thing=named[0], place=named[1]) for pattern in commands.puts]:
            return self._move(PlayerRequest("move", named[0], (named[1],)))
        for verb in _CAN:
            if act.startswith(f"{verb} ") and named:
                return self._treat(PlayerRequest("treat", named[0], treatment=verb))
        if act.startswith(("open ", "close ")) and named and named[0] in self.belief.places:
            one = self.belief.places[named[0]]
            if one.openness == "surface":
                return f"{one.name} cannot be opened or closed."
            wanted = {"open": "open", "close": "closed"}[act.partition(" ")[0]]
            if one.openness == wanted:
                return f"That is done already: {one.name} is {wanted}."
            if one.openness is not None or self.scene.household.counts().openable(one.kind) > _OPENS:
                return self._send(PlayerErrand(f"I {act}.", act=act))
        return f"I cannot promise to {act}; ask me to bring, put, heat, cool or clean something, or to go somewhere."

    def _come(self, request: PlayerRequest) -> str:
        del request
        at = self._at(self.who)
        if at is not None and self.belief.is_here(at):
            return f"I am with you already, at {at}."
        if at is not None:
            return self._send(PlayerErrand(f"I come to you at {at}.", whom=self.who))
        seen = [(when, place) for who, place, when in self.partnership.visits if who == self.who]
        if not seen:
            return "I do not see you at any place that I can go to."
        when, place = max(seen)
        return self._send(
            PlayerErrand(f"I do not see you; I last saw you at {place} in round {when}, so I go there.", place=place)
        )

    def _at(self, who: str) -> str | None:
        at = next((one.at for one in self.belief.others if one.name == who), None)
        return at if at in self.belief.places else None

    def _stay(self, request: PlayerRequest) -> str:
        place, why = self._place(request.places[0])
        return why or self._send(PlayerErrand(f"I wait at {place}.", place=place, stays=True))

    def _undo(self, request: PlayerRequest) -> str:
        held = self.belief.held
        origins = dict(self.partnership.origins)
        name = held or (next(reversed(origins)) if origins else "")
        if request.thing not in ("", "it"):
            name = next((one for one in reversed(origins) if request.thing in (one, kind(one))), "")
        place, item = origins.get(name), self.belief.item(name)
        if place is None or item is None:
            return "I have moved nothing, so I cannot put it back."
        if name not in self.belief.carried and item.where is None:
            who = next((one.name for one in self.belief.others if name in one.carried), "somebody else")
            return f"I cannot: {'you have' if who == self.who else f'{who} has'} {name} now."
        if item.where == place:
            return f"That is done already: {name} is at {place}."
        if not self.scene.household.counts().takes(place, name):
            return f"{with_article(kind(name)).capitalize()} does not go into {with_article(kind(place))}."
        changed = f", {' and '.join(item.state)} as it is now" if item.state else ""
        return self._send(PlayerErrand(f"I put {name} back on {place}{changed}.", name, place=place))

    def _put_down(self, request: PlayerRequest) -> str:
        held = self.belief.held
        if held is None:
            return self._stop(request)
        if request.thing not in ("", "it", held, kind(held)):
            return f"I hold no {kind(request.thing)}, but {held}."
        place = spare_place(held, self.scene)
        if place is None:
            return f"I find no place to put down {held}."
        return self._send(PlayerErrand(f"I put {held} down on {place}.", held, place=place))

    # Staying, following, going on.

    def _holding(self) -> str:
        return f" I still hold {_listed(self.belief.carried)}." if self.belief.carried else ""

    def _stop(self, request: PlayerRequest) -> str:
        del request
        dropped = self.arrangement.errands
        self._arrange(errands=(), mode="stay", whom="", rounds=None)
        what = f' and drop the errand ("{dropped[0].said.rstrip(".")}")' if dropped else ""
        return f"I stop{what}, until you say go on.{self._holding()}"

    def _wait(self, request: PlayerRequest) -> str:
        self._arrange(mode="stay", whom="", rounds=MOMENT if request.short else None)
        return f"I wait {MOMENT} rounds." if request.short else "I wait, until you say go on."

    def _go_on(self, request: PlayerRequest) -> str:
        del request
        self._arrange(mode="work", whom="", rounds=None)
        return f"I go on: {self._doing_now()}"

    def _doing_now(self) -> str:
        arrangement = self.arrangement
        if arrangement.errands:
            return arrangement.errands[0].said
        if arrangement.mode == "stay":
            return "I wait, until you say go on."
        if arrangement.mode == "follow":
            return f"I follow {arrangement.whom}."
        return self.doing(arrangement)

    def _follow(self, request: PlayerRequest) -> str:
        del request
        if self.who in self.partnership.followers:
            return "You follow me already, so one of us has to lead; tell me where to go."
        self._arrange(errands=(), mode="follow", whom=self.who, rounds=None)
        return f"I follow {self.who}."

    # Who does what, and who looks where.

    def _about(self, thing: str) -> frozenset[int]:
        name = kind(self.belief.held or "") if thing == "it" else kind(thing)
        return frozenset(number for number, goal in enumerate(self.goals, start=1) if goal.object == name)

    def _goals_about(self, thing: str) -> tuple[frozenset[int], str]:
        """The goals about a thing, and their names."""
        numbers = self._about(thing)
        name = kind(self.belief.held or "thing") if thing == "it" else kind(thing)
        return numbers, f"the {name}{', for all its chores' if len(numbers) > 1 else ''}"

    def _keep(self, request: PlayerRequest) -> str:
        numbers, called = self._goals_about(request.thing)
        if not numbers:
            return f"No chore is about {called}, and I leave it alone."
        errands = tuple(one for one in self.arrangement.errands if kind(one.thing) != kind(request.thing))
        drops = " I drop it." if numbers & self.arrangement.mine or errands != self.arrangement.errands else ""
        self._arrange(
            theirs=self.arrangement.theirs | numbers,
            mine=self.arrangement.mine - numbers,
            done=self.arrangement.done - numbers,
            errands=errands,
        )
        held = next((one for one in self.belief.carried if self._about(one) & numbers), None)
        if held is not None:
            said = f"{called.capitalize()} is yours; I bring you {held}."
            return self._send(PlayerErrand(said, held, whom=self.who))
        return f"{called.capitalize()} is yours.{drops}"

    def _hand(self, request: PlayerRequest) -> str:
        numbers, called = self._goals_about(request.thing)
        if not numbers:
            return f"No chore is about {called}; tell me what to do with it."
        if all(self._missing_of(number) == 0 for number in numbers):
            return f"That is done already, as far as I know: {self._chore(min(numbers))}."
        before = " I forget that you do it." if numbers & self.arrangement.theirs else ""
        kept = frozenset(name for name in self.arrangement.kept if not self._about(name) & numbers)
        self._arrange(
            mine=self.arrangement.mine | numbers,
            theirs=self.arrangement.theirs - numbers,
            done=self.arrangement.done - numbers,
            kept=kept,
            mode="work",
            whom="",
            rounds=None,
        )
        return f"I take {called}.{before}"

    def _split(self, request: PlayerRequest) -> str:
        if (missing := self._missing((*request.places, *request.theirs))) is not None:
            return missing
        own = [one for one in self.belief.receptacles if one.name in request.places or one.kind in request.places]
        mine, theirs = dict.fromkeys(request.places), dict.fromkeys(request.theirs)
        first = (*mine, *(one for one in self.arrangement.first if one not in mine and one not in theirs))
        avoided = tuple(one for one in (*self.arrangement.avoided, *theirs) if one not in mine)
        self._arrange(first=first, avoided=tuple(dict.fromkeys(avoided)))
        if self.arrangement.mode != "work" and mine:
            self._arrange(mode="work", whom="", rounds=None)
        sides = [f"I take {self._places(request.places)}"] if mine else []
        if theirs:
            yours = self._places(request.theirs)
            sides.append(f"you {yours}" if mine else f"You take {yours}")
        seen = " I have looked into all of them already." if own and all(one.contents is not None for one in own) else ""
        return f"{', '.join(sides)}.{seen}"

    # Reports.

    def _been(self, request: PlayerRequest) -> str:
        if (missing := self._missing(request.places)) is not None:
            return missing
        first = tuple(one for one in self.arrangement.first if one not in request.places)
        avoided = dict.fromkeys((*self.arrangement.avoided, *request.places))
        self._arrange(first=first, avoided=tuple(avoided))
        return f"Then I skip {self._places(request.places)}."

    def _places(self, places: Sequence[str]) -> str:
        """Places in a sentence; by their kind if these are all of it."""
        kinds = list(dict.fromkeys(map(kind, places)))
        whole = {one.name for one in self.belief.receptacles if one.kind in kinds} == set(places)
        return _listed([_the(one, self.belief) for one in (kinds if whole else places)])

    def _found(self, request: PlayerRequest) -> str:
        if not request.thing:
            return "I do not know which thing you mean."
        place, why = self._place(request.places[0])
        if why:
            return why
        thing = kind(request.thing)
        known = {name: where for name, where in self.partnership.found if name != thing}
        self.partnership = replace(self.partnership, found=(*known.items(), (thing, place)))
        one, numbers = self.belief.places[place], self._about(thing)
        when = dict(self.partnership.looked).get(place)
        if when is not None and not any(kind(name) == thing for name in one.contents or ()):
            return f"I looked at {place} in round {when} and saw no {thing}."
        left = [number for number in numbers if self._missing_of(number) and number not in self.arrangement.left_out]
        if not left or not self.divides:
            return f"Good to know: {with_article(thing)} at {place}."
        self._arrange(first=(place, *(each for each in self.arrangement.first if each != place)))
        return f"I get the {thing} from {place}." if when is not None else f"I look for the {thing} at {place}."

    def _done(self, request: PlayerRequest) -> str:
        numbers, called = self._goals_about(request.thing)
        if not numbers:
            return f"Good; no chore is about {called}."
        self._arrange(
            done=self.arrangement.done | numbers,
            mine=self.arrangement.mine - numbers,
            theirs=self.arrangement.theirs - numbers,
        )
        return f"Good; {called} is off the list."

    def _not(self, request: PlayerRequest) -> str:
        errands = tuple(one for one in self.arrangement.errands if not request.thing or kind(one.thing) != kind(request.thing))
        if errands != self.arrangement.errands:
            self._arrange(errands=errands)
            return "Then I do not."
        if request.thing and request.thing != "it" and self._about(request.thing):
            return self._take_in(replace(request, kind="keep"))
        return "I will not."

    # Answers.

    def _report(self, request: PlayerRequest) -> str:
        del request
        wanted = {goal.object for goal in self.goals}
        fresh = [
            one for one in self.belief.receptacles if one.contents is not None and one.name not in self.partnership.reported
        ]
        self.partnership = replace(self.partnership, reported=self.partnership.reported | {one.name for one in fresh})
        if not fresh:
            return "Nothing new since you asked." if self.partnership.reported else "I have looked into nothing yet."
        full = [one for one in fresh if one.contents]
        full.sort(key=lambda one: not any(kind(name) in wanted for name in one.contents or ()))
        parts = [
            f"{', '.join(sorted(one.contents or (), key=lambda name: kind(name) not in wanted)[:4])} in {one.name}"
            for one in full
        ]
        empty = [one.name for one in fresh if not one.contents]
        nothing = f"nothing in {_listed(empty)}" if empty else ""
        text = "; ".join([*parts, *([nothing] if nothing else [])])
        return f"{cut_at_word(text, LONGEST_ANSWER - 10)}.".capitalize()

    def _where(self, request: PlayerRequest) -> str:
        item = nearest(request.thing, self.belief)
        if request.thing == "it" or item is None:
            told = next((place for thing, place in self.partnership.found if thing == kind(request.thing)), None)
            if told is not None:
                return f"I have not seen {with_article(kind(request.thing))} yet, but was told of one at {told}."
            return sentence_of("where", request.thing, self.scene)
        if item.name in self.belief.carried:
            return f"I hold {item.name}."
        who = next((one.name for one in self.belief.others if item.name in one.carried), None)
        if who is not None:
            return f"You have {item.name}." if who == self.who else f"{who} has {item.name}."
        if item.where is None:
            return f"I do not know where {item.name} is now."
        when = dict(self.partnership.looked).get(item.where, 0)
        since = [other for other, place, at in self.partnership.visits if place == item.where and at > when]
        in_round = f" in round {when}" if when else ""
        later = (
            f"; {' and '.join('you were' if one == self.who else f'{one} was' for one in since)} there since" if since else ""
        )
        return f"I saw {item.name} at {item.where}{in_round}{later}."

    def _intent(self, request: PlayerRequest) -> str:
        del request
        return self._doing_now()

    def _chore(self, number: int) -> str:
        goal = self.goals[number - 1]
        treated = f"{ADJECTIVES[goal.treatment]} " if goal.treatment else ""
        return f"{treated}{goal.object} in {goal.receptacle}"

    def _missing_of(self, number: int) -> int:
        """The things that a goal still needs, as far as the player knows."""
        known = number in self.arrangement.done | self.partnership.finished
        return 0 if known else max(0, self.goals[number - 1].count - len(settled(self.goals[number - 1], self.belief)))

    def _left(self, request: PlayerRequest) -> str:
        del request
        if not self.goals:
            return f"The task: {self.scene.goal.rstrip('.')}."
        left = [number for number in range(1, len(self.goals) + 1) if self._missing_of(number)]
        if not left:
            return "As far as I know all is done; I look for what is missing."
        return f"Left: {'; '.join(f'{self._chore(number)} ({self._doer(number)})' for number in left)}."

    def _doer(self, number: int) -> str:
        wanted = self.goals[number - 1].object
        if number in self.arrangement.theirs:
            return "you" if len(self.others) == 1 else "somebody else"
        if any(kind(name) == wanted for name in self.belief.carried) or number in self.arrangement.mine:
            return "I"
        claimed = [who for who, at in self.partnership.claims if at == number]
        carried = [one.name for one in self.belief.others if wanted in map(kind, one.carried)]
        who = next(iter((*claimed, *carried)), None)
        return "nobody" if who is None else "you" if who == self.who else who

    def _asked(self, reading: Understood) -> str:
        question = reading.question
        assert question is not None
        if question.kind == "plan":
            return self._doing_now()
        if question.kind == "left":
            return self._left(PlayerRequest("left"))
        if question.kind == "why":
            return f"{self._doing_now()} That is why."
        places = {*self.belief.kinds, *self.belief.places}
        if question.kind in ("where", "seen") and question.about is not None and question.about not in places:
            return self._where(PlayerRequest("where", question.about))
        if question.kind == "seen" and question.about is None:
            return self._report(PlayerRequest("report"))
        return answer(question, self.scene, Mind())


def sentence_of(question: sentences.QuestionKind, about: str, scene: Surroundings) -> str:
    """The answer to a question about a kind of thing."""
    return answer(sentences.Question(question, about if about != "it" else None), scene, Mind())


def told_of_thought(thought: str) -> str:
    """Turn a thought of an expert or a plan into a sentence: "I take the egg 2 from the fridge 1."."""
    if re.match(r"(?:an?|the|some|every|as|nothing|this|that|it) ", thought):
        said = re.sub(r"; (look|wait|put|take)", r"; I \1", thought)
        return f"{said[:1].upper()}{said[1:].rstrip('.')}."
    return f"I {thought.rstrip('.')}."
