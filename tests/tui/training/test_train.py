"""``housequest train --role distiller`` and its file in use; adapters are tested in `tests.agent.training.lora`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui.conftest import Run


@pytest.mark.heavy
def test_a_distiller_is_trained_and_tells_a_home_in_groups(call: Run, tmp_path: Path) -> None:
    train = ("train", "--role", "distiller", "--houses", "2", "--out", "my.weights")
    done = call(*train, "--json")
    assert done.returncode == 0, done.stderr
    learned = json.loads(done.stdout)
    assert learned["examples"] > 100 and learned["found"].keys() == {"groups", "counts"}
    days = ("--days", "1", "--test-days", "0")
    life = ("learn", "household-light:1001", "--agent", "expert", *days, "--network", "my.weights")
    assert call(*life, "--learn", "groups", "--out", "lives").returncode == 0
    book = tmp_path / "lives" / "household-light-1001" / "groups" / "day-001" / "book.yaml"
    assert "Kept in" in book.read_text("utf-8")
    for wrong, why in (
        (life, "only --learn groups"),
        (("train",), "name a model's file"),
        ((*train, "model.gguf"), "leave out 'model.gguf'"),
        ((*train[:-4], "--houses", "2,3"), "give one number of homes"),
    ):
        refused = call(*wrong)
        assert refused.returncode == 2 and why in " ".join(refused.stderr.split()), refused.stderr
