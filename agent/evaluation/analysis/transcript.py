"""An episode turn by turn, with the thoughts, model calls and notes that led to each command."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from housequest.agent.episodes import events
from housequest.agent.episodes.events import Ended, Event, ModelCall, Started, branch
from housequest.worlds.text import many


class TranscriptNote(NamedTuple):
    """A note beside the commands, by ``who``: a role or the person."""

    who: str
    text: str


class TranscriptTurn(NamedTuple):
    """One turn: the notes and calls ``before`` its command, in order; ``stepped`` is None if no reply could be read. ``player``
    is set in games of several.
    """

    number: int
    before: tuple[TranscriptNote | ModelCall, ...]
    stepped: events.Stepped | None = None
    player: str = ""

    @property
    def place(self) -> tuple[int, str]:
        """Its place among the episode's turns."""
        return self.number, self.player


class Transcript(NamedTuple):
    """A whole episode. ``after`` follows the last turn; ``ended`` is None if it was interrupted, ``started`` if it is empty."""

    started: Started | None
    turns: tuple[TranscriptTurn, ...]
    after: tuple[TranscriptNote | ModelCall, ...]
    ended: Ended | None

    @property
    def outcome(self) -> str:
        """The end of the episode, in one line."""
        if self.ended is None:
            return "interrupted"
        ended, turns = self.ended, many(self.ended.turns, "turn")
        match ended.outcome:
            case "won":
                return f"won in {turns}"
            case "error":
                return f"broken off after {turns} by an error ({ended.boundary}): {ended.message or ended.reason}"
            case outcome:
                return f"{outcome} after {turns}: {ended.reason}"


def notes(before: Iterable[TranscriptNote | ModelCall]) -> list[TranscriptNote]:
    """The notes among what led to a command."""
    return [each for each in before if isinstance(each, TranscriptNote)]


def model_calls(before: Iterable[TranscriptNote | ModelCall]) -> list[ModelCall]:
    """The model calls among what led to a command."""
    return [each for each in before if isinstance(each, ModelCall)]


def transcribe(recorded: Iterable[Event]) -> Transcript:
    """The turns of the branch that was played on."""
    started: Started | None = None
    ended: Ended | None = None
    turns: list[TranscriptTurn] = []
    before: list[TranscriptNote | ModelCall] = []
    plan: tuple[str, ...] = ()
    for event in branch(list(recorded)):
        match event.body:
            case Started() as body:
                started = body
            case ModelCall(role=role, thinking=thinking) as called:
                before += [called, *([TranscriptNote(role, thinking)] if thinking else [])]
            case events.Thought(role=role) | events.Judged(role=role) as said:
                before.append(TranscriptNote(role, said.words))
            case events.Planned(role=role, steps=steps):
                plan = steps
                before.append(TranscriptNote(role, "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))))
            case events.Progressed(role=role, step=step):
                now = f", {plan[step]}" if 0 <= step < len(plan) else ""
                before.append(TranscriptNote(role, f"now step {step + 1}{now}"))
            case events.ParseFailed(role=role, reason=reason, final=final):
                way = "it was asked twice" if final else "it is asked again"
                before.append(TranscriptNote(role, f"its reply could not be read: {reason} ({way})"))
            case events.RulesShown(rules=rules):
                before.append(TranscriptNote("rules", "\n".join(rules)))
            case events.ModelFailed(boundary=boundary, message=message):
                before.append(TranscriptNote(boundary, message))
            case events.Intervened(action=action, text=text):
                before.append(TranscriptNote("person", f"{action} {text}".strip()))
            case events.Said(text=text):
                before.append(TranscriptNote("says", text))
            case events.TurnSpent() | events.Stepped() as body:
                told = [TranscriptNote("news", "\n".join(body.news))] if body.news else []
                step = body if isinstance(body, events.Stepped) else None
                turns.append(TranscriptTurn(body.turn, (*told, *before), step, event.player or ""))
                before = []
            case Ended() as body:
                ended = body
            case _:
                pass
    return Transcript(started, tuple(turns), tuple(before), ended)


def aligned(first: Transcript, second: Transcript) -> list[tuple[TranscriptTurn | None, TranscriptTurn | None]]:
    """The turns of two episodes side by side, by number and player; None if one has no such turn."""
    one, other = ({turn.place: turn for turn in transcript.turns} for transcript in (first, second))
    return [(one.get(place), other.get(place)) for place in sorted(one.keys() | other.keys())]
