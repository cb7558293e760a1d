"""The state of an episode on the screen, live or recorded: a pure function of its events.

Each event starts from the moment of its parent, so a rewound game shows what was true there, and earlier branches stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from housequest.agent.episodes import events
from housequest.agent.evaluation.runs.usage import Tokens
from housequest.agent.setup import HUMAN
from housequest.tui.text import words
from housequest.worlds.base import Observation, Transition
from housequest.worlds.household.belief import Belief
from housequest.worlds.household.talk import Talk, read_quoted, read_talk
from housequest.worlds.household.weighing import Weighed

NoteKind = Literal["thought", "rule", "answer", "plan", "fault", "person", "news", "said"]

YOU = "you"
WAITED = "waited"  # the reason of a turn that a person let pass
PERSON = "person"  # the role of a person's notes


class StoryNote(NamedTuple):
    """A note between turns: a thought, an answer to a hint, a plan, a fault such as a failed call, a person's act, or in
    company another player's news or words.

    ``rule`` is the id of the rule by which a thought decided. Words come ``after`` so many news of their turn; None: after all.
    """

    kind: NoteKind
    role: str
    text: str
    rule: str = ""
    after: int | None = None


class Spoken(NamedTuple):
    """A message of a player; ``who`` is "" for the episode's own player."""

    who: str
    message: Talk


class ShownRule(NamedTuple):
    """A rule that the agent was shown, with its ``id`` in its book; without one it is from no book."""

    statement: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class TurnEntry:
    """A turn, with the event ``id`` that ended it; its ``command`` is None where it was spent without, ``notes`` are before."""

    id: int
    turn: int
    notes: tuple[StoryNote, ...] = ()
    replanned: bool = False
    transition: Transition | None = None
    by: events.Player = "agent"
    spent: str = ""
    """Why it brought no command."""
    previous: TurnEntry | None = field(default=None, compare=False, repr=False)
    """The turn before it, which several branches may share."""

    @property
    def command(self) -> str | None:
        return self.transition.command if self.transition else None

    @property
    def observation(self) -> Observation:
        """The answer to the command; an empty text where there was none."""
        return self.transition.observation if self.transition else Observation("")


@dataclass(frozen=True, slots=True)
class EpisodeMoment:
    """The episode after an event, on its branch. ``opening`` is the belief at the start and ``before`` that of a turn ago; all
    are None in a world of no household."""

    started: events.Started | None = None
    opening: Belief | None = None
    last: TurnEntry | None = None
    notes: tuple[StoryNote, ...] = ()
    belief: Belief | None = None
    before: Belief | None = None
    plan: tuple[str, ...] = ()
    step: int = 0
    revision: int = 0
    rules: tuple[ShownRule, ...] = ()
    proposal: str | None = None
    failure: str | None = None
    met: int | None = None
    conditions: int | None = None
    ended: events.Ended | None = None
    weighed: Weighed | None = None
    """The odds of the last search, in the turn ``weighed_in``."""
    weighed_in: int = 0
    talk: tuple[Spoken, ...] = ()
    """In company, the claims and reports of all players."""
    anchor: int | None = None
    """The event that a rewind to this moment goes back to: the end of the last turn, or the start."""

    @property
    def story(self) -> tuple[TurnEntry, ...]:
        """The turns so far; only the last is kept here, or all moments of 10,000 turns would take 50 million places."""
        turns: list[TurnEntry] = []
        entry = self.last
        while entry is not None:
            turns.append(entry)
            entry = entry.previous
        return tuple(reversed(turns))

    @property
    def turn(self) -> int:
        return self.last.turn if self.last else 0

    @property
    def odds(self) -> Weighed | None:
        """The odds weighed in the current turn, else in the last one."""
        return self.weighed if self.weighed_in >= self.turn else None

    @property
    def decisive(self) -> str:
        """The id of the rule that decided the turn under way, else the last one; empty if none did."""
        notes = self.notes or (self.last.notes if self.last else ())
        return next((note.rule for note in reversed(notes) if note.rule), "")

    @property
    def transitions(self) -> list[Transition]:
        """The commands so far, with how the game answered each."""
        return [entry.transition for entry in self.story if entry.transition is not None]

    @property
    def refused(self) -> int:
        return sum(not entry.observation.accepted for entry in self.story)


@dataclass(frozen=True, slots=True)
class CallTotals:
    """The model's calls over all branches."""

    calls: int = 0
    images: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ViewState:
    """An episode so far; ``moments`` and ``totals_at`` hold both as they were after each event. The present model is last."""

    moment: EpisodeMoment = EpisodeMoment()
    moments: Mapping[int, EpisodeMoment] = field(default_factory=dict[int, EpisodeMoment])
    totals_at: Mapping[int, CallTotals] = field(default_factory=dict[int, CallTotals])
    last: int | None = None
    totals: CallTotals = CallTotals()
    models: tuple[str, ...] = ()
    assisted: bool = False

    @property
    def model(self) -> str | None:
        """The model that plays now; None where none does."""
        return self.models[-1] if self.models else None

    def at(self, event: int) -> ViewState:
        """The episode just after the event of this id, to be shown. Raises ``KeyError`` for an unknown event."""
        return replace(self, moment=self.moments[event], totals=self.totals_at[event], last=event)


def apply(state: ViewState, event: events.Event | events.CallTiming) -> ViewState:
    """``state`` after ``event``."""
    return replayed((event,), state)


def replayed(record: Iterable[events.Event | events.CallTiming], state: ViewState | None = None) -> ViewState:
    """``state``, or an empty one, after all of ``record``; what was true after each event is copied once for all of them."""
    state = state or ViewState()
    moments, totals_at = dict(state.moments), dict(state.totals_at)
    state = replace(state, moments=moments, totals_at=totals_at)
    for event in record:
        if isinstance(event, events.CallTiming):
            spent, tokens = state.totals.seconds + event.seconds, state.totals.tokens + Tokens(cached=event.cached)
            state = replace(state, totals=replace(state.totals, seconds=spent, tokens=tokens))
            if event.of == state.last:
                totals_at[event.of] = state.totals
            continue
        parent = moments.get(event.parent) if event.parent is not None else None
        state = replace(state, moment=_after(parent or EpisodeMoment(), event), last=event.id)
        match event.body:
            case events.ModelCall() as call:
                totals = replace(
                    state.totals,
                    calls=state.totals.calls + (call.calls or 1),
                    images=state.totals.images + sum(message.image is not None for message in call.added),
                    tokens=state.totals.tokens + Tokens(call.prompt_tokens or 0, call.completion_tokens or 0),
                )
                state = replace(state, totals=totals)
            case events.Started(model=model):
                state = replace(state, models=(model,) if model is not None else ())
            case events.Intervened(action=action, text=text, helps=helps):
                models = (*(one for one in state.models if one != text), text) if action == "model" else state.models
                state = replace(state, models=models, assisted=state.assisted or helps)
            case _:
                pass
        moments[event.id], totals_at[event.id] = state.moment, state.totals
    return state


def hearing(state: ViewState, news: Sequence[str], belief: Belief | None) -> ViewState:
    """``state`` during a turn that began with ``news``; the event that ends the turn brings it again."""
    moment = _heard(state.moment, news)
    return replace(state, moment=replace(moment, belief=belief or moment.belief))


def _heard(moment: EpisodeMoment, news: Sequence[str] | None) -> EpisodeMoment:
    """The moment with news before this turn's notes, and each answer after the words that it answers."""
    if not news:
        return moment
    notes, talk, merged, at = list[StoryNote](), list[Spoken](), list[StoryNote](), 0
    for sentence in news:
        if (said := read_quoted(sentence)) is not None:
            notes.append(StoryNote("said", *said))
            talk += (Spoken(said[0], message) for message in (read_talk(said[1]),) if message is not None)
        else:
            who, _, deed = sentence.partition(" ")
            notes.append(StoryNote("news", who, deed))
    for note in moment.notes:
        until = len(notes) if note.after is None else note.after
        merged += (*notes[at:until], note)
        at = max(at, until)
    return replace(moment, notes=(*merged, *notes[at:]), talk=(*moment.talk, *talk))


def note_of(body: events.Body) -> StoryNote | None:
    """The note that ``body`` leaves in the story; None where it leaves none."""
    match body:
        case events.Thought(role=role, answers=answers, rule=rule) as thought:
            return StoryNote("rule" if rule else "answer" if answers else "thought", role, thought.words, rule or "")
        case events.ModelCall(role=role, thinking=str() as text):
            return StoryNote("thought", role, text)
        case events.Judged(role=role) as judged:
            return StoryNote("thought", role, judged.words)
        case events.Planned(role=role, revision=revision, reason=reason):
            return StoryNote("plan", role, f"plan revised: {reason}" if revision else "plan")
        case events.ParseFailed(role=role, reason=reason, final=final):
            way = "asked twice" if final else "asking again"
            return StoryNote("fault", role, f"its reply could not be read: {reason} ({way})")
        case events.ModelFailed(boundary=boundary, message=message):
            return StoryNote("fault", boundary, message)
        case events.Intervened(action=action, text=text):
            said: str = (not text and _PERSON["without"].get(action)) or _PERSON[action]
            return StoryNote("person", PERSON, said.format(text))
        case events.Joined(agent=agent):
            return StoryNote("person", PERSON, "you play again" if agent == HUMAN else f"the {agent} plays while you are away")
        case _:
            return None


_PERSON: Mapping[str, Any] = words("person")


def you(started: events.Started | None) -> str | None:
    """The name of the person who plays in company."""
    players = () if started is None else started.players or ()
    return next((one.name for one in players if one.agent == HUMAN), None)


def _after(moment: EpisodeMoment, event: events.Event) -> EpisodeMoment:
    before, replanned = moment.belief, any(note.kind == "plan" for note in moment.notes)
    if (note := note_of(event.body)) is not None:
        moment = replace(moment, notes=(*moment.notes, note))
    match event.body:
        case events.Started() as started:
            known = event.belief
            return EpisodeMoment(started=started, opening=known, belief=known, before=known, anchor=event.id)
        case events.RulesShown(rules=rules, ids=ids):
            shown = (ShownRule(rule, id) for rule, id in zip(rules, (*ids, *[""] * len(rules)), strict=False))
            return replace(moment, rules=(*moment.rules, *shown))
        case events.Planned(steps=steps, revision=revision):
            return replace(moment, plan=steps, step=0, revision=revision)
        case events.Progressed(step=step):
            return replace(moment, step=step)
        case events.Proposed(command=command):
            return replace(moment, proposal=command, failure=None)
        case events.ModelFailed(message=message):
            return replace(moment, proposal=None, failure=message)
        case events.Intervened():
            return replace(moment, proposal=None, failure=None, ended=None)
        case events.Said(text=text, after=after):
            message = read_talk(text)
            own = StoryNote("said", YOU if event.player == you(moment.started) else event.player or "", text, after=after)
            talk = moment.talk if message is None else (*moment.talk, Spoken("", message))
            return replace(moment, notes=(*moment.notes, own), talk=talk)
        case events.Stepped() as done:
            moment = _heard(moment, done.news)
            entry = TurnEntry(event.id, done.turn, moment.notes, replanned, done.transition, done.by, previous=moment.last)
            moment = replace(moment, belief=event.belief, met=done.met, conditions=done.conditions)
        case events.TurnSpent(turn=turn, reason=reason, news=news):
            moment = _heard(moment, news)
            entry = TurnEntry(event.id, turn, moment.notes, replanned, spent=reason or "", previous=moment.last)
        case events.Ended() as ended:
            return replace(moment, ended=ended, proposal=None, failure=None)
        case events.Thought(weighed=Weighed() as weighed):
            return replace(moment, weighed=weighed, weighed_in=moment.turn + 1)
        case events.Thought() | events.Judged() | events.ParseFailed() | events.ModelCall() | events.Joined():
            return moment
    return replace(moment, last=entry, notes=(), before=before, proposal=None, failure=None, anchor=event.id)
