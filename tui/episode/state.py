"""What a screen shows of an episode: a pure function over its events, the same for a live game and for a recorded one.

``apply(state, event)`` gives the next state and changes nothing. Every event begins from the moment of its parent, so a rewound
game shows what was true there, and the branches that were left stay where they were.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from agent.episodes.events import (
    Body,
    CallTiming,
    Ended,
    Event,
    Failed,
    Intervened,
    Judged,
    ModelCall,
    ParseFailed,
    Planned,
    Player,
    Progressed,
    Proposed,
    RulesShown,
    Started,
    Stepped,
    Thought,
    TurnSpent,
)
from worlds.base import Observation
from worlds.household.belief import Belief
from worlds.registry import belief_reader

NoteKind = Literal["thought", "plan", "fault", "person"]

PERSON = "person"
"""The role of an aside that a person caused."""


@dataclass(frozen=True, slots=True)
class StoryNote:
    """Something said beside the story.

    A role's thought, a new plan, a fault (an unreadable reply, a failed call), or what a person did.
    """

    kind: NoteKind
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class TurnEntry:
    """One turn of the story, as it ended.

    ``id`` is that of the event that ended it, ``command`` None where the turn was spent without one. ``asides`` were said since
    the turn before. ``replanned``: the plan changed in it.
    """

    id: int
    turn: int
    command: str | None
    by: Player
    observation: str
    accepted: bool
    explanation: str | None
    asides: tuple[StoryNote, ...]
    replanned: bool


@dataclass(frozen=True, slots=True)
class EpisodeMoment:
    """What is true just after one event, on its branch.

    ``asides`` were said since the last turn ended. ``before`` is the belief of a turn ago, from which what is new is told; both
    beliefs are None in a world whose texts no belief reads. ``proposal`` waits for a person's verdict, or is about to be
    executed. ``failure`` is what a person is asked about.
    """

    started: Started | None = None
    story: tuple[TurnEntry, ...] = ()
    asides: tuple[StoryNote, ...] = ()
    belief: Belief | None = None
    before: Belief | None = None
    plan: tuple[str, ...] = ()
    step: int = 0
    revision: int = 0
    rules: tuple[str, ...] = ()
    proposal: str | None = None
    failure: str | None = None
    met: int | None = None
    conditions: int | None = None
    ended: Ended | None = None
    anchor: int | None = None
    """The event that a rewind to this moment would go back to: that which ended the last turn, or the start."""

    @property
    def turn(self) -> int:
        """How many turns were spent."""
        return self.story[-1].turn if self.story else 0

    @property
    def refused(self) -> int:
        """How many commands were not taken."""
        return sum(entry.command is not None and not entry.accepted for entry in self.story)


@dataclass(frozen=True, slots=True)
class CallTotals:
    """What the model's calls came to, over all branches: what was spent is spent.

    Tokens count where the model counted them; ``cached`` of the prompt's were served by a cache, None while none was told.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ViewState:
    """An episode as far as it has been told: the present ``moment`` and what all calls came to.

    ``moments`` and ``efforts`` are what they were just after each event, by its id. ``models`` are the names of the models that
    played, the present one last; a person may have changed it.
    """

    moment: EpisodeMoment = EpisodeMoment()
    moments: MappingProxyType[int, EpisodeMoment] = field(default_factory=lambda: MappingProxyType[int, EpisodeMoment]({}))
    efforts: MappingProxyType[int, CallTotals] = field(default_factory=lambda: MappingProxyType[int, CallTotals]({}))
    last: int | None = None
    effort: CallTotals = CallTotals()
    models: tuple[str, ...] = ()
    assisted: bool = False
    branches: int = 1

    @property
    def model(self) -> str | None:
        """The model that plays now; None where none does."""
        return self.models[-1] if self.models else None

    def at(self, event: int) -> ViewState:
        """The same episode looked at just after the event of this id, with the effort so far; to be shown, not played on.

        Raises ``KeyError`` where no such event was told.
        """
        return replace(self, moment=self.moments[event], effort=self.efforts[event], last=event)


def apply(state: ViewState, event: Event | CallTiming) -> ViewState:
    """``state`` after ``event``; a clock adds to the effort alone."""
    if isinstance(event, CallTiming):
        effort = _clocked(state.effort, event)
        told = event.of == state.last
        # Copied by the union of the proxies, not item by item: it is done at every event.
        efforts = MappingProxyType(state.efforts | {event.of: effort}) if told else state.efforts
        return replace(state, effort=effort, efforts=efforts)
    parent = state.moments.get(event.parent, EpisodeMoment()) if event.parent is not None else EpisodeMoment()
    moment = _after(parent, event)
    effort = _called(state.effort, event.body) if isinstance(event.body, ModelCall) else state.effort
    went_back = isinstance(event.body, Intervened) and event.body.action == "rewind"
    return ViewState(
        moment=moment,
        moments=MappingProxyType(state.moments | {event.id: moment}),
        efforts=MappingProxyType(state.efforts | {event.id: effort}),
        last=event.id,
        effort=effort,
        models=_models(state.models, event.body),
        assisted=state.assisted or isinstance(event.body, Intervened),
        branches=state.branches + went_back,
    )


def replayed(events: Iterable[Event | CallTiming], state: ViewState | None = None) -> ViewState:
    """``state``, or an empty one, after all ``events``."""
    state = ViewState() if state is None else state
    for event in events:
        state = apply(state, event)
    return state


def _models(models: tuple[str, ...], body: Body) -> tuple[str, ...]:
    match body:
        case Started(model=str() as name):
            return (name,)
        case Started():
            return ()
        case Intervened(action="model", text=name):
            return (*(one for one in models if one != name), name)
        case _:
            return models


def _after(moment: EpisodeMoment, event: Event) -> EpisodeMoment:
    match event.body:
        case Started() as started:
            reader = belief_reader(started.world)
            opening = reader.begin(Observation(started.opening)) if reader else None
            return EpisodeMoment(started=started, belief=opening, before=opening, anchor=event.id)
        case RulesShown(rules=rules):
            return replace(moment, rules=(*moment.rules, *rules))
        case Thought(role=role, text=text):
            return _aside(moment, StoryNote("thought", role, text))
        case Judged(role=role) as judged:
            return _aside(moment, StoryNote("thought", role, judged.words))
        case Planned() as planned:
            words = "plan" if not planned.revision else f"plan revised: {planned.reason}"
            moment = replace(moment, plan=planned.steps, step=0, revision=planned.revision)
            return _aside(moment, StoryNote("plan", planned.role, words))
        case Progressed(step=step):
            return replace(moment, step=step)
        case ParseFailed() as unreadable:
            way = "it was asked twice" if unreadable.final else "it is asked again"
            return _aside(
                moment, StoryNote("fault", unreadable.role, f"its reply could not be read: {unreadable.reason} ({way})")
            )
        case Proposed(command=command):
            return replace(moment, proposal=command, failure=None)
        case Failed() as failed:
            told = replace(moment, failure=failed.message, proposal=None)
            return _aside(told, StoryNote("fault", failed.boundary, failed.message))
        case Intervened(action=action, text=text):
            told = replace(moment, proposal=None, failure=None, ended=None)
            return _aside(told, StoryNote("person", PERSON, f"{action} {text}".strip()))
        case Stepped() as stepped:
            return _stepped(moment, event.id, stepped)
        case TurnSpent(turn=turn):
            return _turned(moment, _entry(moment, event.id, turn))
        case Ended() as ended:
            return replace(moment, ended=ended, proposal=None, failure=None)
        case ModelCall():
            return moment


def _aside(moment: EpisodeMoment, aside: StoryNote) -> EpisodeMoment:
    return replace(moment, asides=(*moment.asides, aside))


def _entry(moment: EpisodeMoment, id: int, turn: int) -> TurnEntry:
    replanned = any(aside.kind == "plan" for aside in moment.asides)
    return TurnEntry(id, turn, None, "agent", "", True, None, moment.asides, replanned)


def _stepped(moment: EpisodeMoment, id: int, stepped: Stepped) -> EpisodeMoment:
    entry = replace(
        _entry(moment, id, stepped.turn),
        command=stepped.command,
        by=stepped.by,
        observation=stepped.observation,
        accepted=stepped.accepted,
        explanation=stepped.explanation,
    )
    reader = belief_reader(moment.started.world) if moment.started else None
    belief = moment.belief
    if reader is not None and belief is not None:
        belief = reader.update(belief, stepped.command, Observation(stepped.observation, stepped.accepted, stepped.explanation))
    turned = _turned(moment, entry)
    return replace(turned, before=moment.belief, belief=belief, met=stepped.met, conditions=stepped.conditions)


def _turned(moment: EpisodeMoment, entry: TurnEntry) -> EpisodeMoment:
    return replace(
        moment, story=(*moment.story, entry), asides=(), proposal=None, failure=None, before=moment.belief, anchor=entry.id
    )


def _called(effort: CallTotals, called: ModelCall) -> CallTotals:
    return replace(
        effort,
        calls=effort.calls + (called.calls or 1),
        prompt_tokens=effort.prompt_tokens + (called.prompt_tokens or 0),
        completion_tokens=effort.completion_tokens + (called.completion_tokens or 0),
    )


def _clocked(effort: CallTotals, clocked: CallTiming) -> CallTotals:
    cached = effort.cached if clocked.cached is None else (effort.cached or 0) + clocked.cached
    return replace(effort, seconds=effort.seconds + clocked.seconds, cached=cached)
