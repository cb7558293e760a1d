"""Events as lines of plain text: what live play, watching and replay print in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.episodes.events import (
    Ended,
    Event,
    Failed,
    Intervened,
    Judged,
    ParseFailed,
    Planned,
    Progressed,
    RulesShown,
    Started,
    Stepped,
    Thought,
    TurnSpent,
)
from tui.text import Look, cut

LONGEST_THOUGHT = 1_200


class Narrator:
    """Tells an episode event by event. ``typed``: the commands of the agent are already on the screen."""

    def __init__(self, look: Look, *, typed: bool = False) -> None:
        self._look = look
        self._typed = typed
        self._plan: Sequence[str] = ()
        self._last: Stepped | None = None

    def lines(self, event: Event) -> list[str]:
        """What ``event`` is in lines of text; none for what is not shown."""
        return list(self._told(event))

    def _told(self, event: Event) -> Iterator[str]:
        look = self._look
        match event.body:
            case Started() as started:
                yield from self._started(started)
            case RulesShown(rules=rules):
                yield from self._aside("rules", f"the agent is shown {_many(len(rules), 'rule')}")
            case Thought(role=role, text=text):
                yield from self._aside(role, cut(text, LONGEST_THOUGHT))
            case Judged(role=role) as judged:
                yield from self._aside(role, cut(judged.words, LONGEST_THOUGHT))
            case Planned() as planned:
                yield from self._planned(planned)
            case Progressed(step=step) if step < len(self._plan):
                yield from self._aside("plan", f"now step {step + 1}, {self._plan[step]}")
            case ParseFailed(role=role, reason=reason, final=final):
                way = "it was asked twice" if final else "it is asked again"
                yield from self._aside(role, f"its reply could not be read: {reason} ({way})")
            case Failed(boundary=boundary, message=message):
                yield from self._aside(boundary, cut(message, LONGEST_THOUGHT))
            case Intervened(action=action, text=text):
                yield from self._aside("person", f"{action} {text}".strip())
            case TurnSpent(turn=turn):
                yield look.paint("dim", f"{turn:>2}   (no command)")
            case Stepped() as stepped:
                yield from self._stepped(stepped)
            case Ended() as ended:
                yield from self._ended(ended)
            case _:
                pass

    def _started(self, started: Started) -> Iterator[str]:
        look = self._look
        model = f", {started.model}" if started.model else ""
        limit = f"at most {_many(started.max_turns, 'turn')}"
        place = f"{started.world} {started.split}:{started.number}, {started.agent}{model}, {limit}"
        yield from (look.paint("goal", line) for line in look.wrapped(started.goal.strip()))
        yield from (look.paint("dim", line) for line in look.wrapped(place))
        yield ""
        yield from look.wrapped(started.opening.strip())
        yield ""

    def _aside(self, who: str, text: str) -> Iterator[str]:
        lines = self._look.wrapped(f"{who}: {' '.join(text.split())}", "     ", "       ")
        yield from (self._look.paint("dim", line) for line in lines)

    def _planned(self, planned: Planned) -> Iterator[str]:
        self._plan = planned.steps
        again = f" (revised, {_many(planned.revision, 'time')}: {planned.reason})" if planned.revision else ""
        yield from self._aside(planned.role, f"the plan{again}")
        for number, step in enumerate(planned.steps, start=1):
            lines = self._look.wrapped(" ".join(step.split()), f"       {number:>2} ", "          ")
            yield from (self._look.paint("dim", line) for line in lines)

    def _stepped(self, stepped: Stepped) -> Iterator[str]:
        look = self._look
        self._last = stepped
        if not self._typed or stepped.by == "person":
            lead = f"{stepped.turn:>2} > "
            said = f"{stepped.command} (by chance)" if stepped.by == "curiosity" else stepped.command
            yield from (look.paint("command", line) for line in look.wrapped(said, lead, "     "))
        said = f"{stepped.observation.strip()} {stepped.explanation or ''}".strip()
        yield from look.wrapped(said, "     ")

    def _ended(self, ended: Ended) -> Iterator[str]:
        look, turns = self._look, _many(ended.turns, "turn")
        yield ""
        match ended.outcome:
            case "won":
                yield look.paint("good", f"Won in {turns}.")
            case "lost":
                yield from (look.paint("bad", line) for line in look.wrapped(f"Lost after {turns}: {ended.reason}."))
            case "stopped":
                yield from look.wrapped(f"Stopped after {turns}: {ended.reason}.")
            case "error":
                what = f"Broken off after {turns} by an error ({ended.boundary}): {ended.message or ended.reason}"
                yield from (look.paint("bad", line) for line in look.wrapped(what))
        last = self._last
        if ended.outcome in {"lost", "stopped"} and last and last.conditions:
            yield f"{last.met} of the {_many(last.conditions, 'condition')} of the goal held at the end."
        if ended.refused:
            yield f"{_many(ended.refused, 'command')} had no effect."
        if ended.assisted:
            yield "A person helped: the episode counts as assisted."


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
