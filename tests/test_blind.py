"""The sheets for naming drawings blindly: thirty pictures of each kind, none twice, without words."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from scripts.blind import ACROSS, DOWN, main


@pytest.mark.heavy
def test_thirty_views_and_thirty_houses_are_drawn_for_a_stranger(tmp_path: Path) -> None:
    main(tmp_path)
    assert all((tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG") for name in ("eyes", "house"))
    answers = json.loads((tmp_path / "answers.json").read_text("utf-8"))
    assert [len(named) for named in answers.values()] == [ACROSS * DOWN] * 2
    kinds = Counter(answers["eyes"])
    assert len(kinds) >= 20 and max(kinds.values()) <= 2
