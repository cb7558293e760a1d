"""Published figures beside a run: the near ones first, and no difference left unsaid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from housequest.agent.evaluation.analysis.metrics import Measured
from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.analysis.statistics import Interval
from housequest.agent.evaluation.render.export import (
    PublishedComparison,
    PublishedReport,
    compare_published,
    published,
    warnings,
)
from housequest.agent.evaluation.render.report import RunReport
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import Manifest
from housequest.agent.protocols import PROTOCOLS
from tests.agent.evaluation.recorded import Lived, run


def manifest_of(folder: Path, **configuration: object) -> Manifest:
    return run(folder, [Lived(1), Lived(2, "lost")], **{"world": "alfworld", **configuration}).manifest  # pyright: ignore


ONCE = (Measured("this run", 0.5, Interval(0.1, 0.9)),)


def told(manifest: Manifest, measured: Sequence[Measured] = ONCE) -> tuple[str, ...]:
    return warnings(manifest, measured)


def beside(manifest: Manifest, measured: Sequence[Measured] = ONCE) -> tuple[PublishedComparison, ...]:
    return compare_published(manifest, measured)


COLLECTED: dict[tuple[str, str], dict[tuple[str | None, str, str], float]] = {
    # Wu et al., PET, table 1
    ("BUTLER with DAgger", "sequence to sequence"): {("seen", "template", "1"): 40, ("unseen", "template", "1"): 35},
    ("behaviour cloning", "GPT-2 medium, 345 M"): {("seen", "template", "1"): 91, ("unseen", "template", "1"): 95},
    ("PET with action attention", "12 layers, 384 wide, with MT-NLG and Macaw"): {
        ("seen", "template", "1"): 70,
        ("unseen", "template", "1"): 67.5,
        ("seen", "human", "1"): 52.5,
        ("unseen", "human", "1"): 60,
    },
    # ReAct's README
    ("ReAct", "PaLM-540B"): {("unseen", "template", "best of 6 prompts"): 70.9},
    ("ReAct", "GPT-3"): {("unseen", "template", "1"): 78.4},
    # Shi et al., OPEx, table 2
    ("ReAct", "GPT-4"): {("unseen", "template", "1"): 66},
    ("OPEx", "GPT-4"): {("unseen", "template", "1"): 73},
    ("OPEx-L (learned rules)", "GPT-4"): {("unseen", "template", "1"): 78},
    ("OPEx-H (human rules)", "GPT-4"): {("unseen", "template", "1"): 84},
    # READMEs, abstracts, issues and logs
    ("AdaPlanner", "GPT-3"): {("unseen", "template", "not stated"): 91},
    ("ReflAct", "GPT-4o"): {("unseen", "template", "1"): 93.3},
    ("RAFA", "GPT-4"): {("unseen", "template", "perhaps several attempts"): 95},
    ("AutoManual", "GPT-4-turbo"): {("unseen", "template", "up to 5 planner replies a game"): 97.4},
    ("WALL-E 2", "GPT-4o"): {("unseen", "template", "10 on unsolved games, by the released script"): 98},
    ("Reflexion", "text-davinci-002"): {
        ("unseen", "template", "1"): 62.7,
        ("unseen", "template", "12 on failed games"): 97.0,
        ("unseen", "template", "15 on failed games"): 100,
    },
    ("StateAct", "Qwen2.5 7B"): {("unseen", "template", "1"): 46},
    ("StateAct", "Qwen2.5 14B"): {("unseen", "template", "1"): 78},
    ("StateAct", "Qwen2.5 32B"): {("unseen", "template", "1"): 90},
    ("ReAct, two exemplars", "Qwen2.5 14B"): {("unseen", "template", "1"): 74.6},
    ("StateAct, with places visited", "Qwen2.5 14B"): {("unseen", "template", "1"): 80.6},
    ("GiGPO (reinforcement learning)", "Qwen2.5 1.5B"): {("seen", "template", "mean of 3 seeds"): 86.7},
    ("GiGPO (reinforcement learning)", "Qwen2.5 7B"): {("seen", "template", "mean of 3 seeds"): 90.8},
    ("SkillRL", "7B"): {("seen", "template", "not stated"): 89.9},
    ("MPO", "8B planner"): {("unseen", "template", "not stated"): 78.4},
    ("people", ""): {(None, "template", "not stated"): 91},
    ("constant-context skill learning (SFT and reinforcement learning)", "Qwen3 8B"): {
        ("unseen", "template", "not stated"): 89.6
    },
    ("GiGPO (in Relax)", "not stated"): {(None, "template", "1 seed, 128 episodes"): 78.9},
    ("GraphGPO (in Relax)", "not stated"): {(None, "template", "1 seed, 128 episodes"): 88.3},
    ("GRPO (in Relax)", "not stated"): {(None, "template", "1 seed, 128 episodes"): 49.2},
}
"""What sources say, collected apart from the file: by method and model, then by split, goals and trials."""


def test_the_figures_are_what_their_sources_say() -> None:
    said: dict[tuple[str, str], dict[tuple[str | None, str, str], float]] = {}
    for each in published():
        split = each.split.removeprefix("valid_") if each.split else None
        said.setdefault((each.method, each.model), {})[split, each.goals, each.trials] = each.success
    assert said == COLLECTED
    assert sum(map(len, said.values())) == len(published())
    assert {each.protocol for each in published()} - {None} <= set(PROTOCOLS)
    assert all(each.source for each in published())


def test_what_is_doubtful_has_its_reason_beside_it() -> None:
    caveats = {each.method: each.caveat for each in published()}
    assert "at the limit of steps" in caveats["Reflexion"]
    assert all("no reproduction" in caveat for method, caveat in caveats.items() if "Relax" in method)
    assert not any("OPID" in each.source for each in published()), "its figures are another's, and contested"


def test_a_figure_of_another_protocol_is_said_to_be_one(tmp_path: Path) -> None:
    beside_it = {each.figure.method: each.differs for each in beside(manifest_of(tmp_path / "run", protocol="react"))}
    assert "measured as the protocol opex" in beside_it["OPEx"]
    assert not any("measured as" in words for words in beside_it["BUTLER with DAgger"])
    same = beside(manifest_of(tmp_path / "same", split="valid_unseen", protocol="stateact"))
    assert [each.differs for each in same if each.figure.method == "StateAct"] == [()] * 3
    assert not any("names no protocol" in warning for warning in told(manifest_of(tmp_path / "b", protocol="react")))
    assert any("names no protocol" in warning for warning in told(manifest_of(tmp_path / "c")))
    assert any("not won before" in warning for warning in told(manifest_of(tmp_path / "d", attempt=2)))


@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen"])
def test_those_of_the_same_split_come_first(split: str, tmp_path: Path) -> None:
    found = beside(manifest_of(tmp_path / "run", split=split))
    same = [each.figure.split == split for each in found]
    assert same == sorted(same, reverse=True)
    assert found[0].differs == ()
    assert found[-1].figure.split is None
    other = next(each for each in found if each.figure.split not in (split, None))
    assert other.differs[0] == f"{other.figure.split} is not {split}"


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    whole = manifest_of(tmp_path / "whole", split="valid_seen")
    said = told(whole)
    assert "valid_seen is not valid_unseen: those are other games." in said
    assert any("figures of other trials" in warning for warning in said)
    assert not any("whole published split" in warning for warning in said)
    part = whole.model_copy(update={"of": 140})
    assert any("2 of the split's 140" in warning for warning in told(part))
    human = manifest_of(tmp_path / "human", split="valid_seen", goals="human")
    assert any("people's sentences" in warning for warning in told(human))
    assert all("template goals" in each.differs for each in beside(human) if each.figure.goals == "template")
    assert any("No figure is of the split" in warning for warning in told(manifest_of(tmp_path / "a", split="generated")))
    other = manifest_of(tmp_path / "b", world="scripted")
    assert any("None of these figures is of the world scripted" in warning for warning in told(other))


def test_it_is_told_in_80_columns_and_as_json(tmp_path: Path) -> None:
    manifest_of(tmp_path / "run", split="valid_seen", model="openai:" + "long" * 40)
    report = PublishedReport(RunReport(read_for_comparison(RunFolder(tmp_path / "run"))))
    text = report.text()
    assert max(map(len, text.splitlines())) <= 80
    assert "50.0 %  this run: expert, openai:long" in text
    assert text.index("\nvalid_seen\n") < text.index("valid_unseen (other games)") < text.index("split not stated")
    assert text.count("valid_unseen (other games)") == 1
    assert "~ 86.7 %  GiGPO" in text
    figures = report.data()["figures"]
    assert isinstance(figures, list)
    assert len(figures) == len(published())  # pyright: ignore
