"""Programs in the styles of alfworld's users, unchanged: on the real alfworld and on the stand-in they are told the same."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.worlds.dropin.test_dropin import configuration
from tests.worlds.dropin.test_dropin_reference import few, said

__all__ = ["few"]

PROGRAMS = sorted(Path(__file__).with_name("programs").glob("*.py"))
STAND_IN = ["-m", "housequest.as_alfworld"]
ITS_OWN = re.compile(
    r"Initializing AlfredTWEnv\.\.\.|Overall we have \d+ games in split=\w+|(Training|Evaluating) with \d+ games"
)

pytestmark = [pytest.mark.games, pytest.mark.slow]


def told(lines: list[str]) -> list[str]:
    """All that a program prints, without what alfworld itself says of the games that it found."""
    return [line for line in lines if not ITS_OWN.fullmatch(line)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_is_told_the_same_by_both(program: Path, few: Path, tmp_path: Path) -> None:
    if program.stem.startswith("hydra") and find_spec("hydra") is None:
        pytest.skip("needs Hydra: pip install hydra-core")
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(configuration(few, steps=8)), "utf-8")  # which is YAML too
    ours = told(said([*STAND_IN, program], [str(config)], few, tmp_path))
    assert len(ours) > 1
    if find_spec("alfworld") is None:
        pytest.skip("it runs on ours; to compare, the reference game is needed: pip install 'housequest[alfworld]'")
    theirs = told(said(program, [str(config)], few, tmp_path))
    assert len(ours) == len(theirs)
    for number, (our, their) in enumerate(zip(ours, theirs, strict=True), 1):
        assert our == their, f"line {number}"
