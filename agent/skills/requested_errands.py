"""Requests for errands: to bring, move, treat and put back things, and to go, stay, wait and follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from housequest.agent.skills.errands import appliance, spare_place
from housequest.agent.skills.language import grounding
from housequest.agent.skills.language.requests import PlayerRequest
from housequest.agent.skills.partnership import last_seen
from housequest.agent.skills.requested import Requested
from housequest.worlds.household.arrangement import Mode, PlayerErrand
from housequest.worlds.household.belief import kind
from housequest.worlds.household.goals import ADJECTIVES, APPLIANCES, Treatment
from housequest.worlds.text import with_article

MOMENT = 3  # rounds of "a second"
_OPENS = 0.5  # If at least this share of a kind of place can be opened, try one.
_CAN: dict[Treatment, str] = {"heat": "heatable", "cool": "coolable", "clean": "cleanable"}


@dataclass(slots=True)
class RequestedErrands(Requested):
    """Errands for somebody, one at a time, and the answer to each request for one."""

    def _send(self, errand: PlayerErrand, *, ahead: str = "") -> str:
        """Take on an errand: drop another request's, and first put down what is in the hand."""
        instead = self._replacing()
        errands = (*self.arrangement.errands, replace(errand, besides=self.besides))
        self.started = len(errands)
        kept = self.arrangement.kept - {name for name in self.arrangement.kept if errand.thing in (name, kind(name))}
        self._arrange(errands=errands, kept=kept)
        held = self.belief.carried
        fetches = errand.thing and not any(errand.thing in (name, kind(name)) for name in held)
        first = f" First I put down {held[-1]}." if fetches and len(held) >= self.belief.hands else ""
        where = self._handing_over(errand.whom) if errand.thing and errand.whom else ""
        return f"{ahead}{errand.said.rstrip('.')}{where}.{first}{instead}"

    def _replacing(self, mode: Mode = "work") -> str:
        """Drop the errands of earlier requests, and name them."""
        dropped = () if self.started else dict.fromkeys(f'"{one.said.rstrip(".")}"' for one in self.arrangement.errands)
        self._arrange(errands=self.arrangement.errands[: self.started])
        named = f" I drop the errand ({' and '.join(dropped)})." if dropped else ""
        return f"{named}{self._turn_to(mode)}"

    def _handing_over(self, whom: str) -> str:
        """The words on where somebody gets a thing who is not seen at any place."""
        if self._at(whom) is not None:
            return ""
        seen = last_seen(whom, self.partnership)
        return f"; I last saw you at {seen[1]}" if seen else "; stand at a place, where I can hand it over"

    def _hindrance(self, request: PlayerRequest, name: str) -> str:
        """The reason why a thing cannot be fetched; "" if there is none."""
        if not name:
            return "I do not know which thing you mean."
        for one in self.belief.others:
            if name in one.carried or (name == kind(name) and name in map(kind, one.carried) and not self.besides):
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

    def _unseen(self, name: str) -> str:
        if self.belief.item(name) is not None:
            return ""
        return f"I have not seen {f'another {name}' if self.besides else with_article(kind(name))} yet; "

    def bring(self, request: PlayerRequest) -> str:
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

    def _had(self, request: PlayerRequest) -> tuple[str, ...]:
        """The things that somebody who wants another one has, or has asked for."""
        theirs = [thing for one in self.belief.others if one.name == self.who for thing in one.carried]
        asked = [one.thing for one in self.arrangement.errands if request.kind == "correct"]
        return (*theirs, *asked)

    def correct(self, request: PlayerRequest) -> str:
        """Do the last errand with another thing or place."""
        if not self.arrangement.errands:
            what = request.thing or " or ".join(request.places) or "that"
            return f"Tell me what to do about {self._called(what) if what != 'that' else what}."
        last = self.arrangement.errands[-1]
        thing = request.thing or (kind(last.thing) if request.other else last.thing)
        places = request.places or ((last.place,) if last.place else ())
        if last.act:
            return self._ordered((f"{last.act.split()[0]} {request.places[0]}",)) if request.places else "I do not see how."
        if not thing:
            return self.stay(replace(request, places=places)) if last.stays else self._going(places)
        new = PlayerRequest("move" if places else "bring", thing, places, treatment=last.treatment)
        return self.move(new) if places else self.bring(new)

    def _going(self, places: Sequence[str]) -> str:
        place, why = self._place(places[0]) if places else ("", "I do not know where.")
        return why or self._send(PlayerErrand(f"I go to {place}.", place=place))

    def treat(self, request: PlayerRequest) -> str:
        name, treatment = self._meant(request.thing), request.treatment or "clean"
        item = self.belief.item(name)
        if item is not None and item.treated(treatment) and item.name in self.belief.carried:
            return self.bring(replace(request, kind="bring"))
        return self.bring(replace(request, kind="treat", treatment=treatment))

    def move(self, request: PlayerRequest) -> str:
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
        called = "it" if found else self._called(name)
        does = f"{request.treatment} {called} and put it on {place}" if request.treatment else f"put {called} on {place}"
        does = f"look for it{',' if request.treatment else ' and'} {does}" if found else does
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
            return self.move(PlayerRequest("move", named[0], (named[1],)))
        for verb in _CAN:
            if act.startswith(f"{verb} ") and named:
                return self.treat(PlayerRequest("treat", named[0], treatment=verb))
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

    def come(self, request: PlayerRequest) -> str:
        del request
        at = self._at(self.who)
        if at is not None and self.belief.is_here(at):
            return f"I am with you already, at {at}."
        if at is not None:
            return self._send(PlayerErrand(f"I come to you at {at}.", whom=self.who))
        if (seen := last_seen(self.who, self.partnership)) is None:
            return "I do not see you at any place that I can go to."
        when, place = seen
        return self._send(
            PlayerErrand(f"I do not see you; I last saw you at {place} in round {when}, so I go there.", place=place)
        )

    def stay(self, request: PlayerRequest) -> str:
        place, why = self._place(request.places[0])
        return why or self._send(PlayerErrand(f"I wait at {place}.", place=place, stays=True))

    def undo(self, request: PlayerRequest) -> str:
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

    def put_down(self, request: PlayerRequest) -> str:
        held = self.belief.held
        if held is None:
            return self.stop(request) if request.thing in ("", "it") else "I hold nothing."
        if request.thing not in ("", "it", held, kind(held)):
            return f"I hold no {kind(request.thing)}, but {held}."
        place = spare_place(held, self.scene)
        if place is None:
            return f"I find no place to put down {held}."
        return self._send(PlayerErrand(f"I put {held} down on {place}.", held, place=place))

    def stop(self, request: PlayerRequest) -> str:
        del request
        return f"I stop, until you say go on.{self._replacing('stay')}{self._holding()}"

    def wait(self, request: PlayerRequest) -> str:
        ended = self._turn_to("stay", MOMENT if request.short else None)
        return f"{f'I wait {MOMENT} rounds' if request.short else 'I wait, until you say go on'}.{ended}"

    def go_on(self, request: PlayerRequest) -> str:
        del request
        ended = self._turn_to("work")
        return f"I go on: {self._doing_now()}{ended}"

    def follow(self, request: PlayerRequest) -> str:
        del request
        if self.who in self.partnership.followers:
            return "You follow me already, so one of us has to lead; tell me where to go."
        return f"I follow {self.who}.{self._replacing('follow')}"
