"""The goals of a game of several, and who works on each, as far as the person saw, heard, and notices what others carry."""

from __future__ import annotations

from typing import NamedTuple

from housequest.tui.episode.state import YOU, EpisodeMoment
from housequest.worlds.household.belief import Belief, Item, kind
from housequest.worlds.household.goals import Goal
from housequest.worlds.household.talk import Claimed, Dropped, Finished
from housequest.worlds.registry import household


class ChoreRow(NamedTuple):
    """One goal in the task's own words, with the player who works on it; ``done`` as far as known."""

    text: str
    done: bool
    who: tuple[str, ...] = ()


def chore_rows(moment: EpisodeMoment) -> tuple[ChoreRow, ...]:
    """The goals of a game of several, in the order of the task; none for a game of one."""
    started, belief = moment.started, moment.belief
    reader = household(started.world) if started is not None else None
    if started is None or not started.players or belief is None or reader is None:
        return ()
    goals = reader.read_goals(started.goal, belief.kinds)
    texts = reader.goal_clauses(started.goal, belief.kinds)
    at, finished = _said(moment)
    won = moment.ended is not None and moment.ended.outcome == "won"
    rows: list[ChoreRow] = []
    for number, (goal, text) in enumerate(zip(goals, texts, strict=True), start=1):
        done = won or _is_done(goal, belief, finished.get(number, {}))
        who = [name for name, one in at.items() if one == number]
        who += [one.name for one in belief.others if goal.object in map(kind, one.carried)]
        who += [YOU] if goal.object in map(kind, belief.carried) else []
        rows.append(ChoreRow(text, done, () if done else tuple(dict.fromkeys(who))))
    return tuple(rows)


def _said(moment: EpisodeMoment) -> tuple[dict[str, int], dict[int, dict[str, str]]]:
    """The goal that each player last claimed, and for each goal the things reported as brought, with their places."""
    at, finished = dict[str, int](), dict[int, dict[str, str]]()
    for who, message in moment.talk:
        name = who or YOU
        match message:
            case Claimed(goal=number):
                at[name] = number
            case Finished(goal=number, thing=thing, place=place):
                finished.setdefault(number, {})[thing] = place
                at.pop(name, None)
            case Dropped(goal=number) if at.get(name) == number:
                del at[name]
            case _:
                pass
    return at, finished


def _is_done(goal: Goal, belief: Belief, told: dict[str, str]) -> bool:
    """True if enough things for the goal were seen or reported at one place of its kind."""
    carried = {*belief.carried, *(thing for one in belief.others for thing in one.carried)}
    for place in belief.receptacles:
        if place.kind == goal.receptacle:
            inside = {name for name in belief.inside(place) if kind(name) == goal.object}
            ready = {name for name in inside if goal.treatment is None or name in told or _treated(goal, belief, name)}
            said = {thing for thing, where in told.items() if where == place.name and thing not in carried}
            if len(ready | said) >= goal.count:
                return True
    return False


def _treated(goal: Goal, belief: Belief, name: str) -> bool:
    return goal.treatment is not None and (belief.item(name) or Item(name)).treated(goal.treatment)
