"""``housequest modules``: over pet's own run and over an expert's, with a model that answers by rules."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tui.conftest import Run

SCRIPT = """\
rules:
  - role: You break household tasks
    reply: take an egg, heat the egg
  - role: You know where things are kept
    reply: "fridge 1: 0.9\\nmicrowave 1: 0.1"
  - role: You watch somebody
    reply: "No"
default: "Thought: hm\\nAction: look"
"""


def test_a_run_of_pet_and_one_of_the_expert(call: Run, tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text(SCRIPT)
    for agent, more in (("pet", ("--model", "scripted:script.yaml", "--max-steps", "3")), ("expert", ())):
        done = call("eval", "--split", "example", "--limit", "1", "--agent", agent, *more, "--out", agent)
        assert done.returncode == 0, done.stderr
    own = json.loads(call("modules", "pet", "--json").stdout)
    assert (own["card"]["agent"], own["card"]["split"], own["card"]["turns"]) == ("pet", "example", "at most 3")
    assert "judged by" not in own["card"]
    assert own["episodes"] == 1
    assert own["places"]["masked"] > 0
    assert own["track"]["recall"] is None
    assert own["plan"]["planned"] == 1 and 0 < own["plan"]["similarity"] < 1
    watched = call("modules", "expert", "--model", "scripted:script.yaml")
    assert "AUC" in watched.stdout
    assert watched.stdout.startswith("agent     expert\nmodel     none\nprotocol  none named\nsplit     example\n")
    assert "\njudged by pet with scripted:script.yaml" in watched.stdout
    assert "0 of 1 plans were said to be finished" in watched.stdout
    assert "1 of 1 episodes" in watched.stderr


def test_what_cannot_be_looked_at_is_said(call: Run, tmp_path: Path) -> None:
    call("eval", "--split", "example", "--limit", "1", "--agent", "expert", "--out", "expert")
    for arguments, word in ((("expert",), "--model"), (("gone",), "run.json"), (("expert", "--model", "nobody"), "nobody")):
        done = call("modules", *arguments)
        assert done.returncode == 2
        assert word in done.stderr
        assert "Traceback" not in done.stderr


CALIBRATING = """\
rules:
  - role: You know where things are kept
    reply: "{scores}"
default: "No"
"""


def test_thresholds_are_calibrated_by_way_of_scoring_and_played_with(call: Run, tmp_path: Path) -> None:
    """What the expert needs is scored high here, but for one place in three, so that a threshold can be chosen."""
    played = call("eval", "--split", "generated", "--limit", "1", "--seed", "3", "--agent", "expert", "--out", "expert")
    assert played.returncode == 0, played.stderr
    kinds = ("fridge", "microwave", "countertop", "cabinet", "drawer", "shelf", "sinkbasin", "bed", "desk", "dresser")
    scores = "\\n".join(f"{kind} {number}: 0.7" for kind in kinds for number in range(1, 30))
    (tmp_path / "script.yaml").write_text(CALIBRATING.format(scores=scores))
    judging = ("--model", "scripted:script.yaml", "--set", "plan=off")
    done = call("modules", "expert", *judging, "--calibrate", "mine.json")
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "mine.json").read_text())
    assert kept.keys() == {"answer"}
    assert kept["answer"]["places"] == 0.7
    assert "mine.json: scores=answer masks places below 0.7" in done.stderr
    # What it wrote is what pet masks by, and part of the run's record.
    (tmp_path / "mine.json").write_text(json.dumps({"answer": {"places": 0.75, "objects": 0.2}}))
    pet = ("eval", "--split", "generated", "--limit", "1", "--agent", "pet", *judging, "--max-steps", "2")
    masked = {}
    for name, more in (("plain", ()), ("calibrated", ("--set", "thresholds=mine.json"))):
        assert call(*pet, *more, "--out", name).returncode == 0
        masked[name] = json.loads(call("modules", name, "--json").stdout)["places"]["masked"]
    assert masked["plain"] == 0 < masked["calibrated"]
    assert "pet/thresholds" in json.loads((tmp_path / "calibrated" / "run.json").read_text())["prompts"]
    again = call("modules", "calibrated", "--calibrate", "mine.json")
    assert again.returncode == 0, again.stderr
    for arguments, word in (
        (("modules", "expert", *judging, "--set", "scores=auto", "--calibrate", "x.json"), "one way of scoring"),
        # Not after minutes of a model's time: nobody answers here.
        (("modules", "expert", "--model", "openai:x@http://127.0.0.1:9/v1", "--calibrate", "script.yaml"), "has no thresholds"),
        ((*pet, "--set", "thresholds=gone.json", "--out", "gone"), "--calibrate FILE"),
        ((*pet, "--set", "thresholds=script.yaml", "--out", "gone"), "has no thresholds"),
    ):
        refused = call(*arguments)
        assert (refused.returncode, "Traceback" in refused.stderr) == (2, False)
        assert word in refused.stderr


def test_no_threshold_is_chosen_on_what_is_measured(call: Run, tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text(SCRIPT)
    call("eval", "--split", "example", "--limit", "1", "--agent", "expert", "--out", "expert")
    done = call("modules", "expert", "--model", "scripted:script.yaml", "--calibrate", "mine.json")
    assert done.returncode == 2
    assert "choose thresholds on a run in train" in done.stderr
    assert not (tmp_path / "mine.json").exists()
