"""Carries out the requests of other players, and answers in a sentence, for the expert and the built-in model.

It obeys people; from agents it takes in only reports and offers. If it cannot do something, it says why, and that costs no
turn. Among several things or places it chooses the nearest, and names its number. The newest request counts. A `Partnership`
keeps what was asked as plain data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from housequest.agent.base import Turn
from housequest.agent.skills.errands import RunningErrand
from housequest.agent.skills.language import sentences
from housequest.agent.skills.language.requests import PlayerRequest, RequestKind
from housequest.agent.skills.language.sentences import Surroundings, Understood
from housequest.agent.skills.partnership import Obliged, Partnership, telling
from housequest.agent.skills.requested_work import LONGEST_ANSWER, UNCLEAR, UNDIVIDED, RequestedWork
from housequest.worlds.household.arrangement import NOTHING_ARRANGED, Arrangement
from housequest.worlds.household.belief import by_name, kind
from housequest.worlds.household.talk import read_quoted, read_talk
from housequest.worlds.shared import WAIT
from housequest.worlds.text import cut_at_word

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
    between: bool = False,
) -> tuple[Partnership, tuple[str, ...]]:
    """Take in what others said since the last time.

    Args:
        partnership: The memory of this turn.
        turn: The turn; its news tell what was said.
        scene: The context in which the words are read.
        doing: Says what the player would do now under an arrangement.
        divides: True if it follows arrangements of who does what and looks where; else it says that it does not.
        between: True between two turns; the next turn brings the same news again.

    Returns:
        The new memory, and the answers.
    """
    answers = list[str]()
    quotes = list(filter(None, map(read_quoted, turn.news)))
    heeded, partnership = partnership.heeded, replace(partnership, heeded=len(quotes) if between else 0)
    for who, said in quotes[heeded:]:
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
        heeding = _Heeding(partnership, scene, who, turn.others, doing, divides, rounds=turn.left)
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


class _Heeding(RequestedWork):
    """All kinds of requests."""

    __slots__ = ()

    def facts(self, reading: Understood) -> tuple[str, ...]:
        """Take in only reports and offers."""
        return tuple(map(self._take_in, (one for one in reading.requests if one.kind in _FACTS)))

    def _take_in(self, request: PlayerRequest) -> str:
        if request.kind in _OF_GOALS and not (self.divides and self.goals):
            return UNDIVIDED
        if request.kind in _OF_PLACES and not self.divides:
            return "I cannot divide the search here, so I look where I think best."
        return _WAYS[request.kind](self, request)

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
                self.besides = self._had(request) if request.other else ()
                if request.later:
                    self.started = len(self.arrangement.errands)
                yield from self._several(request)
            yield reading.refused or ""
        elif reading.question is not None:
            yield self.asked(reading)
        elif reading.control == "forget":
            self._arrange(
                **{name: getattr(NOTHING_ARRANGED, name) for name in ("mine", "theirs", "first", "avoided", "kept", "errands")}
            )
            yield "I forget what we arranged."
        elif reading.control is not None:
            kind_of = _CONTROLS[reading.control]
            yield _WAYS[kind_of](self, PlayerRequest(kind_of))
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
            yield self.found(PlayerRequest("found", thing, (place,)))
        elif reading.look:
            yield self._take_in(PlayerRequest("split", places=reading.look))
        else:
            yield UNCLEAR


_Ways = dict[RequestKind, Callable[[_Heeding, PlayerRequest], str]]
_ERRANDS: _Ways = {
    "bring": _Heeding.bring,
    "move": _Heeding.move,
    "treat": _Heeding.treat,
    "undo": _Heeding.undo,
    "put_down": _Heeding.put_down,
    "come": _Heeding.come,
    "stay": _Heeding.stay,
    "follow": _Heeding.follow,
    "stop": _Heeding.stop,
    "wait": _Heeding.wait,
    "go on": _Heeding.go_on,
}
_WORK: _Ways = {
    "split": _Heeding.split,
    "keep": _Heeding.keep,
    "hand": _Heeding.hand,
    "nothing": _Heeding.nothing,
    "been": _Heeding.been,
    "found": _Heeding.found,
    "done": _Heeding.done,
}
_ANSWERS: _Ways = {
    "report": _Heeding.report,
    "where": _Heeding.where,
    "who": _Heeding.who_does,
    "here": _Heeding.here,
    "intent": _Heeding.intent,
    "left": _Heeding.left,
    "correct": _Heeding.correct,
    "own": lambda _, __: "Good, you do that.",
    "thanks": lambda _, __: "Gladly.",
    "chat": lambda _, __: "",
}
_WAYS: _Ways = {**_ERRANDS, **_WORK, **_ANSWERS}


def told_of_thought(thought: str) -> str:
    """Turn a thought of an expert or a plan into a sentence: "I take the egg 2 from the fridge 1."."""
    if re.match(r"(?:an?|the|some|every|as|nothing|this|that|it) ", thought):
        said = re.sub(r"; (look|wait|put|take)", r"; I \1", thought)
        return f"{said[:1].upper()}{said[1:].rstrip('.')}."
    return f"I {thought.rstrip('.')}."
