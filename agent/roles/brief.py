"""Short prompts for a small model that was trained on them: all that counts, and nothing else.

Both are rendered anew at each call, from what is remembered of the game rather than from what was said (``observer``), so each
is one message. A prefix cache then serves a prompt only up to its first change, which comes after some thirty tokens of plan;
the rest is short enough for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agent.roles.observer import observed
from agent.roles.story import numbered
from knowledge.rules import Rule
from worlds.alfworld.text.reader import begin, update
from worlds.base import Observation, Transition
from worlds.household.belief import Belief

MOST_RULES = 4
MOST_HINTS = 2
MOST_FAILED = 3
LONGEST_LINE = 160
"""Characters of a goal, a rule, a hint or a failed plan that are shown."""

_WORD = re.compile(r"[a-z]{3,}")
_COMMON = frozenset(
    word
    for line in (
        "the and its any all put place lay set with under into from clean heat cool hot cold some two find look examine take",
        "move them there then that this what where you your one thing before only while most often not",
    )
    for word in line.split(" ")
)


@dataclass(frozen=True, slots=True)
class Scene:
    """What is remembered of a game.

    ``seen`` are the commands so far with the belief in which each was given, ``hints`` all that a person said, ``failed`` the
    plans that were carried out and did not win.
    """

    belief: Belief
    seen: tuple[tuple[Belief, str], ...] = ()
    hints: tuple[str, ...] = ()
    failed: tuple[tuple[str, ...], ...] = ()

    @property
    def tried(self) -> tuple[str, ...]:
        """The commands that were given before in just this situation: they changed nothing, or led back to it."""
        return tuple(dict.fromkeys(command for belief, command in self.seen if belief == self.belief))

    @property
    def idle(self) -> tuple[str, ...]:
        """The commands that were given before while just as much was known, wherever one stood then: they taught nothing."""
        known = _known(self.belief)
        return tuple(dict.fromkeys(command for belief, command in self.seen if _known(belief) == known))

    def after(self, transitions: Iterable[Transition]) -> Scene:
        """The scene once ``transitions`` have happened."""
        belief, seen = self.belief, self.seen
        for one in transitions:
            seen = (*seen, (belief, one.command))
            belief = update(belief, one.command, one.observation)
        return replace(self, belief=belief, seen=seen)

    def instead(self) -> tuple[str, ...]:
        """Commands that may lead on where the model's own has been tried: to open what is here, else to look where nobody has
        looked yet, else to go anywhere, or to look round."""
        away = [one for one in self.belief.receptacles if not self.belief.is_here(one.name)]
        shut = [f"open {one.name}" for one in self.belief.here() if one.openness == "closed"]
        unseen = [f"go to {one.name}" for one in away if one.contents is None]
        anywhere = [*(f"go to {one.name}" for one in away), "look", "inventory"]
        done = self.idle
        fresh = [move for move in (*shut, *unseen) if move not in done]
        return tuple(fresh or (move for move in anywhere if move not in done))


def _known(belief: Belief) -> Belief:
    """What is believed, wherever one stands."""
    return replace(belief, at=None, beside=())


def scene(opening: Observation) -> Scene:
    """The scene at the beginning."""
    return Scene(begin(opening))


def is_brief(prompt: str) -> bool:
    """Whether ``prompt`` is one of these."""
    return prompt.startswith(("Goal:", "Plan:"))


def planning(goal: str, belief: Belief, rules: Iterable[Rule], hints: Sequence[str], failed: Sequence[Sequence[str]]) -> str:
    """The prompt of the reasoner. ``failed`` are plans that were carried out and did not win."""
    lines = [f"Goal: {_line(goal)}", f"Places: {' '.join(dict.fromkeys(one.kind for one in belief.receptacles))}"]
    lines += [f"Rule: {_line(rule.statement)}" for rule in about(goal, belief, rules)]
    lines += [f"Hint: {_line(hint)}" for hint in hints[-MOST_HINTS:]]
    lines += [f"Failed: {'; '.join(steps)[:LONGEST_LINE]}" for steps in failed[-MOST_FAILED:]]
    return "\n".join(lines)


def acting(plan: Sequence[str], belief: Belief, tried: Sequence[str]) -> str:
    """The prompt of the actor."""
    text = numbered(plan)
    return f"Plan:\n{text}\n{observed(belief, text, tried)}"


def about(goal: str, belief: Belief, rules: Iterable[Rule]) -> list[Rule]:
    """The first few rules that name what the goal names, apart from furniture and everyday words: a rulebook is long."""
    furniture = {one.kind for one in belief.receptacles}
    wanted = _words(goal) - furniture
    return [rule for rule in rules if not wanted.isdisjoint(_words(rule.statement))][:MOST_RULES]


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in _WORD.findall(text.lower())} - _COMMON


def _line(text: str) -> str:
    return " ".join(text[: 4 * LONGEST_LINE].split())[:LONGEST_LINE]
