"""The figures of the card: what is played, and what is made of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from housequest.agent.agents.action_attention.network import SHIPPED
from housequest.agent.agents.action_attention.training.__main__ import ARMS, SETS, evaluate, main
from housequest.agent.training.evaluate import game_sets, lines
from scripts.bench.action_attention import THRESHOLDS, curve


@pytest.mark.parametrize(
    ("arguments", "why"), [(("evaluate", "nowhere.weights"), "nowhere.weights"), (("evaluate", "--sets", "sean"), "sean")]
)
def test_a_step_that_cannot_be_taken_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: Sequence[str], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


@pytest.mark.heavy
def test_each_arm_is_measured_beside_the_expert_without_published_games() -> None:
    found = list(evaluate(SHIPPED, ("houses",), limit=3))
    assert [one["set"] for one in found] == [f"500 made-up houses, {arm}" for arm in ARMS]
    for one in found:
        assert (one["games"], len(one["lost"])) == (3, 3 - one["won"])
        assert one["expert"] > 0
        assert "ms_a_call" not in one


@pytest.mark.heavy
def test_a_higher_threshold_masks_more_and_shows_less_of_what_is_needed() -> None:
    (houses,) = game_sets("houses", None, 12)
    shares = [re.findall(r"[\d.]+(?=%)", line) for line in curve(houses.plain, houses.tasks)]
    assert len(shares) == 2 * len(THRESHOLDS)
    for kind in (0, 1):
        masked, shown = zip(*(map(float, each) for each in shares[kind::2]), strict=True)
        assert list(masked) == sorted(masked)
        assert list(shown) == sorted(shown, reverse=True)
        assert shown[0] == 100
    assert masked[0] > 50


@pytest.mark.games
@pytest.mark.heavy
def test_every_set_of_the_card_is_measured(alfworld_games: Path) -> None:
    """People's sentences that stand in ``train`` are counted apart from the others."""
    found = list(evaluate(SHIPPED, SETS, ("default",), data=alfworld_games, limit=4))
    titles = ["valid_seen", *(f"valid_seen, annotator {number}" for number in (1, 2, 3)), "500 made-up houses"]
    titles += [f"60 made-up houses, {habits}" for habits in ("kitchen things in odd places", "all in the safe")]
    assert [one["set"] for one in found] == [f"{title}, default" for title in titles]
    for one in found:
        assert ("sentences" in one) == ("annotator" in one["set"])
        assert sum(part["games"] for part in one.get("sentences", {"all": one}).values()) == one["games"] == 4
        assert one["expert"] > 0
        assert len(lines(one)) == 1 + len(one["by_type"]) + len(one.get("sentences", ()))
