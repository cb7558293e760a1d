"""The annotated plans of `train` and `valid_seen`: all but those that the docs list are accepted, and none once broken.

Each exception and each broken plan fails for the reason that it has to.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from housequest.worlds.alfred.tasks import TASK_TYPES, Demonstration, level, read_split, score
from tests.worlds.alfred.mutations import MUTATIONS, applicable, mutations

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "alfred-plans.md"


CAUSES = {
    "Two places at one spot": {"not here", "not at the appliance", None},
    "There from the beginning": {None},
    "Wrong name": {"not in hand", "not possible with it"},
}
"""What the model says of the plans under each heading of the page: why it refuses them, or None: conditions are left unmet."""


def excepted() -> dict[str, str]:
    """The demonstrations that the docs page lists as not accepted, each with the heading that it stands under."""
    listed: dict[str, str] = {}
    _, *sections = re.split(r"^\*\*(.+?)\.\*\*", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for heading, section in zip(sections[::2], sections[1::2], strict=True):
        listed |= dict.fromkeys(re.findall(r"^    ((?:train|valid_seen)/\S+)$", section, re.MULTILINE), heading)
    return listed


def check(demonstrations: tuple[Demonstration, ...], split: str) -> None:
    """Every plan reaches its goal but the listed ones, which fail for their cause, and every mutation fails for its own."""
    listed = {one: heading for one, heading in excepted().items() if one.startswith(f"{split}/")}
    assert f"of `{split}`, {len(listed)} of {len(demonstrations):,}" in PAGE.read_text(encoding="utf-8")
    seen: dict[str, set[str]] = {}
    for one in demonstrations:
        found = score(one.plan, one)
        assert found.reaches == (one.id not in listed), one.id
        if not found.reaches:
            assert (found.refusal.cause if found.refusal else None) in CAUSES[listed[one.id]], one.id
            continue
        broken = list(mutations(one))
        assert broken and {mutation.name for mutation in broken} == applicable(one), one.id
        assert not [(mutation.name, mutation.wrong()) for mutation in broken if mutation.wrong()], one.id
        seen.setdefault(one.type, set()).update(mutation.name for mutation in broken)
    assert set(seen) == set(TASK_TYPES)
    assert {name for names in seen.values() for name in names} == MUTATIONS


@pytest.mark.games
def test_annotated_plans_are_accepted_and_broken_ones_are_not(alfworld_games: Path) -> None:
    demonstrations = read_split("valid_seen", alfworld_games)
    assert len(demonstrations) == 251
    assert sum(len(one.instructions) for one in demonstrations) == 820
    check(demonstrations, "valid_seen")
    assert {level(len(one.plan)) for one in demonstrations} == {"easy", "normal", "hard"}


@pytest.mark.games
@pytest.mark.slow
def test_so_it_is_in_train(alfworld_games: Path) -> None:
    demonstrations = read_split("train", alfworld_games)
    assert len(demonstrations) == 6574
    check(demonstrations, "train")
