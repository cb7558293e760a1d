"""Requests about the work: who does what and looks where, what was found and done, and questions about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from housequest.agent.skills import naming
from housequest.agent.skills.errands import nearest
from housequest.agent.skills.language import sentences
from housequest.agent.skills.language.answers import Mind, answer
from housequest.agent.skills.language.requests import PlayerRequest
from housequest.agent.skills.language.sentences import Surroundings, Understood
from housequest.agent.skills.requested import listed
from housequest.agent.skills.requested_errands import RequestedErrands
from housequest.worlds.household.arrangement import PlayerErrand
from housequest.worlds.household.belief import kind
from housequest.worlds.text import cut_at_word, with_article

LONGEST_ANSWER = 200  # characters
UNCLEAR = 'I do not understand that; say it in other words, such as "bring me the bowl".'
UNDIVIDED = "I cannot divide this task between us, so I go on with all of it."


@dataclass(slots=True)
class RequestedWork(RequestedErrands):
    """Arrangements and reports about the work, and the answers to them."""

    def keep(self, request: PlayerRequest) -> str:
        numbers, called = self._goals_about(request.thing)
        errands = tuple(one for one in self.arrangement.errands if kind(one.thing) != kind(request.thing))
        drops = " I drop it." if numbers & self.arrangement.mine or errands != self.arrangement.errands else ""
        if not numbers:
            self._arrange(errands=errands)
            return f"No chore is about {called}, and I leave it alone.{drops}"
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

    def hand(self, request: PlayerRequest) -> str:
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
        )
        return f"I take {called}.{before}{self._turn_to('work')}"

    def split(self, request: PlayerRequest) -> str:
        if (missing := self._missing((*request.places, *request.theirs))) is not None:
            return missing
        own = [one for one in self.belief.receptacles if one.name in request.places or one.kind in request.places]
        mine, theirs = dict.fromkeys(request.places), dict.fromkeys(request.theirs)
        first = (*mine, *(one for one in self.arrangement.first if one not in mine and one not in theirs))
        avoided = tuple(one for one in (*self.arrangement.avoided, *theirs) if one not in mine)
        self._arrange(first=first, avoided=tuple(dict.fromkeys(avoided)))
        ended = self._turn_to("work") if mine else ""
        sides = [f"I take {self._places(request.places)}"] if mine else []
        if theirs:
            yours = self._places(request.theirs)
            sides.append(f"you {yours}" if mine else f"You take {yours}")
        seen = " I have looked into all of them already." if own and all(one.contents is not None for one in own) else ""
        return f"{', '.join(sides)}.{seen}{ended}"

    def been(self, request: PlayerRequest) -> str:
        if (missing := self._missing(request.places)) is not None:
            return missing
        first = tuple(one for one in self.arrangement.first if one not in request.places)
        avoided = dict.fromkeys((*self.arrangement.avoided, *request.places))
        self._arrange(first=first, avoided=tuple(avoided))
        return f"Then I skip {self._places(request.places)}."

    def found(self, request: PlayerRequest) -> str:
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

    def done(self, request: PlayerRequest) -> str:
        numbers, called = self._goals_about(request.thing)
        if not numbers:
            return f"Good; no chore is about {called}."
        self._arrange(
            done=self.arrangement.done | numbers,
            mine=self.arrangement.mine - numbers,
            theirs=self.arrangement.theirs - numbers,
        )
        return f"Good; {called} is off the list."

    def nothing(self, request: PlayerRequest) -> str:
        errands = tuple(one for one in self.arrangement.errands if not request.thing or kind(one.thing) != kind(request.thing))
        if errands != self.arrangement.errands:
            self._arrange(errands=errands)
            return "Then I do not."
        if request.thing and request.thing != "it" and self._about(request.thing):
            return self.keep(replace(request, kind="keep")) if self.divides else UNDIVIDED
        return "I will not."

    def report(self, request: PlayerRequest) -> str:
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
        nothing = f"nothing in {listed(empty)}" if empty else ""
        text = "; ".join([*parts, *([nothing] if nothing else [])])
        return f"{cut_at_word(text, LONGEST_ANSWER - 10)}.".capitalize()

    def where(self, request: PlayerRequest) -> str:
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

    def intent(self, request: PlayerRequest) -> str:
        del request
        return self._doing_now()

    def left(self, request: PlayerRequest) -> str:
        del request
        if not self.goals:
            return f"The task: {self.scene.goal.rstrip('.')}."
        left = [number for number in range(1, len(self.goals) + 1) if self._missing_of(number)]
        if not left:
            return "As far as I know all is done; I look for what is missing."
        return f"Left: {'; '.join(f'{self._chore(number)} ({self._doer(number)})' for number in left)}."

    def who_does(self, request: PlayerRequest) -> str:
        """Tell how it stands with the chores about a thing."""
        numbers, called = self._goals_about(request.thing)
        if not numbers:
            return f"No chore is about {called}."
        return _sentence(map(self._state_of, sorted(numbers)))

    def _state_of(self, number: int) -> str:
        count, missing = self.goals[number - 1].count, self._missing_of(number)
        if not missing:
            return f"{self._chore(number)}: done, as far as I know"
        left = f"{missing} of {count} left" if count > 1 else "not done yet"
        return f"{self._chore(number)}: {left} ({self._doer(number)})"

    def here(self, request: PlayerRequest) -> str:
        at = self.belief.at
        return f"I am at {at}. {self.intent(request)}" if at else f"I stand in the middle of the room. {self.intent(request)}"

    def told(self) -> str:
        """Tell what was arranged and still counts."""
        work = self.arrangement
        told = [one.said.rstrip(".") for one in work.errands]
        told += [f"the {self.goals[number - 1].object} is yours" for number in sorted(work.theirs)]
        told += [f"I take the {self.goals[number - 1].object}" for number in sorted(work.mine)]
        told += [f"I look first in {self._places(work.first)}"] if work.first else []
        told += [f"I skip {self._places(work.avoided)}"] if work.avoided else []
        told += [self._doing_now().rstrip(".")] if work.mode != "work" and not work.errands else []
        return _sentence(told or ["you have told me nothing that still counts"])

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

    def asked(self, reading: Understood) -> str:
        question = reading.question
        assert question is not None
        if question.kind == "plan":
            return self._doing_now()
        if question.kind == "left":
            return self.left(PlayerRequest("left"))
        if question.kind == "can" and question.about is None:
            return UNCLEAR
        if question.kind == "told":
            return self.told()
        if question.kind == "why":
            about = question.about
            if about and any(naming.matches(one, about) or one == about for one in self.arrangement.avoided):
                return "Because you asked me to skip it."
            return f"{self._doing_now()} That is why."
        places = {*self.belief.kinds, *self.belief.places}
        if question.kind in ("where", "seen") and question.about is not None and question.about not in places:
            return self.where(PlayerRequest("where", question.about))
        if question.kind == "seen" and question.about is None:
            return self.report(PlayerRequest("report"))
        return answer(question, self.scene, Mind(turns=self.rounds))


def _sentence(parts: Iterable[str]) -> str:
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def sentence_of(question: sentences.QuestionKind, about: str, scene: Surroundings) -> str:
    """The answer to a question about a kind of thing."""
    return answer(sentences.Question(question, about if about != "it" else None), scene, Mind())
