"""Trusting a folder's configuration, as a person does who has read it."""

from __future__ import annotations

from pathlib import Path

from housequest.agent.config import folder_file
from housequest.agent.trust import trust_file


def trust(folder: Path) -> None:
    """Trust the ``housequest.toml`` of ``folder`` as it is now."""
    file = folder_file(folder)
    assert file is not None
    trust_file(file)
