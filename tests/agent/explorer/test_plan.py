"""What an exploration is before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.agent.explorer.plan import ExploreOptions, plan_exploration
from housequest.worlds.errors import ConfigurationError


@pytest.mark.heavy
def test_the_built_in_model_cannot_distil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSEQUEST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    mined = plan_exploration(configure({"split": "generated", "model": "builtin"}), ExploreOptions(episodes=2))
    assert mined.model is None
    with pytest.raises(ConfigurationError, match="cannot distil"):
        plan_exploration(configure({"split": "generated"}), ExploreOptions(episodes=2, distiller="builtin"))
