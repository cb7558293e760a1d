"""The View's plan in text says all that its pictures show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from random import Random

from housequest.agent.episodes.drawing import DrawnScene, EpisodeDrawing, goal_kinds
from housequest.tui.episode.view_drawing import labels, plan_lines
from housequest.worlds.base import Drawable
from housequest.worlds.household.belief import Other
from housequest.worlds.registry import make_world
from housequest.worlds.rooms.stage import AGENT, agent, bystanders, furniture
from tests.tui.episode.test_labels import SIZE, STYLES, cells
from tests.tui.episode.test_view import EGG

TURNS = 10
_CHANGE = ("use", "clean", "take", "open", "close", "move")
_HOT = (*EGG, "go to microwave 1", "heat egg 2 with microwave 1", "go to diningtable 1", "move egg 2 to diningtable 1")
_COLD = (*EGG, "cool egg 2 with fridge 1", "go to countertop 1", "move egg 2 to countertop 1")
_LAMP = ("go to bed 1", "take book 1 from bed 1", "go to dresser 1", "use desklamp 1")


def scenes(reference: str, commands: Sequence[str] = ()) -> Iterator[DrawnScene]:
    """What somebody sees who gives these commands, then whatever changes a house, and meets others there."""
    world, dice = make_world("alfworld"), Random(reference)
    assert isinstance(world, Drawable) and world.household is not None
    task = world.task(reference)
    env = world.open(task)
    belief = before = world.household.begin(env.reset().observation)
    drawing = EpisodeDrawing(world.room(task), goal_kinds(world.name, task.goal, belief.kinds))
    yield drawing.scene(belief)
    for turn in range(TURNS):
        able = env.admissible_commands() or ()
        changes = [one for one in able if one.startswith(_CHANGE)]
        ways = [one for one in able if one.startswith("go")]
        command = commands[turn] if turn < len(commands) else dice.choice(changes if changes and dice.random() < 0.6 else ways)
        step = env.step(command)
        before, belief = belief, world.household.update(belief, command, step.observation)
        met = dice.choice(belief.receptacles).name
        others = (Other("Bob", met, dice.choice(((), ("mug 9",)))), Other("Eve"))
        yield drawing.scene(replace(belief, others=others), before)
        if step.done:
            return


def spoken(scene: DrawnScene) -> list[str]:
    """The lines of the plan in text, none of them wrapped: where one is, what is new, and what is said beside the plan."""
    return [" ".join(line.plain.rpartition("# ")[2].split()) for line in plan_lines(scene, (1_000, 40))]


def says(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def facts(scene: DrawnScene) -> Iterator[tuple[str, str, str, str]]:
    """Each fact of the picture: its kind, its thing, the line of the text that is about it, and the words to be there."""
    now, (first, *lines) = scene.situation, spoken(scene)
    hands = first.partition("holding")[2]
    keys = [line for line in lines if re.match(r"[+*]* ?[\w*] ", line)]
    about = {one.name: next(key for key in keys if says(key.partition(":")[0], one.name)) for one in scene.room.fixtures}
    places = {thing: about[one.name].partition(":")[2] for one in now.holders for thing in one.contents}
    places |= dict.fromkeys(now.carried, hands)
    met = {f"@ {one.name} at {one.at}": one for one in now.others}
    yield "figure", AGENT, first, now.at or "in the middle of the room"
    if scene.came:
        yield "way", AGENT, first, f"came from {scene.left or 'the middle of the room'}"
    boxes = (*furniture(scene.room, now, pale=True), *agent(now.pose, now.carried, now.states))
    drawn = {box.name for box in boxes if box.name not in (None, AGENT)}
    for name in sorted(map(str, drawn)):
        yield "held" if name in now.carried else "lying" if name in places else "furniture", name, (places | about)[name], name
    for holder in now.holders:
        if holder.openness in ("open", "closed"):
            yield holder.openness, holder.name, about[holder.name].partition(":")[0], holder.openness
    for name, word in now.states:
        if name in drawn:
            yield word, name, next(iter(re.findall(rf"{re.escape(name)} \(([^)]*)\)", places[name])), ""), word
    for said, one in met.items():
        yield "other", one.name, "\n".join(lines), ", holding ".join((said, *one.carried))
    assert {box.name for box in bystanders(now)} == {
        *(one.name for one in now.others),
        *chain(*(one.carried for one in now.others)),
    }


def test_the_text_says_each_fact_of_the_picture() -> None:
    played = (
        ("generated:690", _HOT),
        ("generated:690", _COLD),
        ("generated:7", _LAMP),
        ("generated:2", ()),
        ("generated:3", ()),
    )
    found = [fact for reference, commands in played for scene in scenes(reference, commands) for fact in facts(scene)]
    assert [(kind, thing, line, words) for kind, thing, line, words in found if not says(line, words)] == []
    kinds = {kind for kind, *_ in found}
    assert kinds >= {"figure", "way", "lying", "held", "furniture", "open", "closed", "other", "hot", "cool", "on"}


def test_the_text_begins_with_the_receptacle_here_and_ends_with_those_not_seen() -> None:
    _, _, _, here, *others = spoken([*scenes("generated:690", _COLD)][3])
    unseen = ["not seen yet" in line for line in others if line.strip("#")]
    assert "fridge 1, open: " in here and unseen == sorted(unseen) and any(unseen)


def test_the_text_says_each_name_on_the_picture() -> None:
    scene = [*scenes("generated:690", _COLD)][-1]
    names = {one.text.lstrip("+*") for one in labels(scene, cells(scene), SIZE, STYLES, hidden=True)}
    text = "\n".join(spoken(scene))
    assert names and not {name for name in names if len(name) > 1 and not says(text, name)}
