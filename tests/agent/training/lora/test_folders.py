"""The folder of an adapter: what it is made from, whether it is gone on with, and what is refused before that."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from housequest.agent.training.export import load
from housequest.agent.training.lora.games import Lessons
from housequest.agent.training.lora.run import (
    AdapterFolder,
    BaseModel,
    Listener,
    LoraRecipe,
    Training,
    base_model,
    folder_name,
    of_sizes,
    prepare_all,
)
from housequest.tui.cli import main
from housequest.worlds.errors import ConfigurationError
from tests.agent.models.tiny import write_tiny
from tests.agent.training.lora.making import prepare


@pytest.fixture
def base(tmp_path: Path) -> BaseModel:
    return base_model(write_tiny(tmp_path / "tiny.gguf"))


def test_folders_are_named_as_their_models(base: BaseModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folder_name(base, ("lota", "react")) == "tiny-lota-react"
    model = tmp_path / "Some2.5-0.5B"
    model.mkdir()
    (model / "config.json").write_text("{}", "utf-8")
    monkeypatch.chdir(model)
    for path in (model, Path()):
        assert folder_name(base_model(path), ("lota",)) == "Some2.5-0.5B-lota"


def test_games_that_teach_nothing_are_told(base: BaseModel, tmp_path: Path) -> None:
    listener = Listener()
    lessons = Lessons(("react",), houses=6, epsilon=0.9)
    conversations = prepare(Training(base, lessons, LoraRecipe()), AdapterFolder(tmp_path / "made"), listener)
    lost = 6 - len({each.origin for each in conversations})
    assert [f"{lost} game{'s' * (lost != 1)} that the expert does not win: left out"] == listener.said


def test_a_folder_is_trained_in_by_one_command_at_a_time(base: BaseModel, tmp_path: Path) -> None:
    training = Training(base, Lessons(houses=1), LoraRecipe())
    planned = of_sizes(training, (1, 2), tmp_path / "made")
    with planned[1].folder.locked(), pytest.raises(ConfigurationError, match="is being trained by another command"):
        prepare_all(planned, Listener())
    assert [len(found) > 0 for found in prepare_all(planned, Listener())] == [True, True]


def test_a_folder_is_gone_on_with_by_the_same_command_alone(base: BaseModel, tmp_path: Path) -> None:
    training = Training(base, Lessons(houses=2), LoraRecipe())
    folder = AdapterFolder(tmp_path / "made")
    first = prepare(training, folder, Listener())
    written = (folder.path / "conversations.jsonl").stat().st_mtime_ns
    assert prepare(training, folder, Listener()) == first
    assert (folder.path / "conversations.jsonl").stat().st_mtime_ns == written
    (folder.path / "checkpoint.pt").touch()
    with pytest.raises(ConfigurationError, match=r"another recipe\.rank"):
        prepare(replace(training, recipe=LoraRecipe(rank=4)), folder, Listener())
    other = base_model(write_tiny(tmp_path / "other.gguf", seed=1))
    with pytest.raises(ConfigurationError, match=r"another base\.name, base\.digest"):
        prepare(replace(training, base=other), folder, Listener())


def test_another_command_may_begin_anew_where_nothing_was_learned_yet(base: BaseModel, tmp_path: Path) -> None:
    one, two = (Training(base, Lessons(houses=houses), LoraRecipe()) for houses in (1, 2))
    first, second = AdapterFolder(tmp_path / "first"), AdapterFolder(tmp_path / "second")
    assert prepare(two, first, Listener()) != prepare(one, first, Listener()) == prepare(one, second, Listener())
    assert first.recipe() == second.recipe()


def test_an_adapter_stays_with_what_it_was_made_of(base: BaseModel, tmp_path: Path) -> None:
    one, two = (Training(base, Lessons(houses=houses), LoraRecipe()) for houses in (1, 2))
    folder, adapter = AdapterFolder(tmp_path / "made"), {"file": "adapter.gguf"}
    prepare(one, folder, Listener())
    folder.record(folder.recipe() | {"adapter": adapter})
    (folder.path / "conversations.jsonl").unlink()
    prepare(one, folder, Listener())
    assert folder.recipe()["adapter"] == adapter
    prepare(two, folder, Listener())
    assert "adapter" not in folder.recipe()


def test_several_sizes_are_beginnings_of_the_largest_whose_games_are_played_once(base: BaseModel, tmp_path: Path) -> None:
    class Counting(Listener):
        games = 0

        def played(self, games: int, of: int) -> None:
            self.games += 1

    training, heard = Training(base, Lessons(settings={"shots": 0}), LoraRecipe()), Counting()
    planned = of_sizes(training, (3, 1, 2), tmp_path / "made")
    found = prepare_all(planned, heard)
    assert heard.games == 3
    for size, each, conversations in zip((1, 2, 3), planned, found, strict=True):
        assert each.folder.path == tmp_path / "made" / f"houses-{size}"
        alone = AdapterFolder(tmp_path / str(size))
        assert prepare(each.training, alone, Listener()) == conversations
        assert each.folder.recipe() == alone.recipe()
    assert prepare_all(planned, heard) == found
    assert heard.games == 3


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ("--houses -5", "--houses: '-5' is not a number of houses;"),
        ("--houses 25,many", "--houses: '25,many' is not a number of houses;"),
        ("--houses 1,-2", "--houses: '1,-2' is not a number of houses;"),
        ("--houses 0", "nothing to learn from: give --houses, --games or --from RUN."),
        ("--games -1", "'--games': Input should be greater than or equal to 0."),
        ("--epsilon 2", "'--epsilon': Input should be less than or equal to 1."),
        ("--epsilon -0.1", "'--epsilon': Input should be greater than or equal to 0."),
        ("--human-goals", "give --games N."),
        ("--epochs 0", "'--epochs': Input should be greater than or equal to 1."),
        ("--rank -1", "'--rank': Input should be greater than or equal to 1."),
        ("--from empty", "holds no recorded episodes"),
    ],
)
def test_what_cannot_be_learned_is_refused_before_anything_is_played_or_written(
    flags: str, told: str, base: BaseModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    given = flags.replace("empty", str(tmp_path / "empty")).split()
    with pytest.raises(SystemExit) as end:
        main(("train", str(base.path), *given, "--out", str(tmp_path / "made"), "--dry-run"))
    assert end.value.code == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_the_command_writes_what_it_would_learn_from(
    base: BaseModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made"
    arguments = ("train", str(base.path), "--houses", "2", "--set", "shots=0", "--out", str(out), "--dry-run", "--json")
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert not end.value.code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["conversations"] == len(load(out / "conversations.jsonl")) == 2
    recipe = json.loads((out / "recipe.json").read_text("utf-8"))
    assert recipe["base"] == {"name": "tiny.gguf", "digest": base.digest}
    assert recipe["lessons"]["settings"] == {"shots": "0"}


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no model's folder"):
        base_model(tmp_path)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        base_model(tmp_path / "missing.gguf")


@pytest.mark.skipif(find_spec("peft") is not None, reason="the extra is installed")
def test_what_is_missing_is_said_before_anything_is_played(
    base: BaseModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(("train", str(base.path), "--out", str(tmp_path / "made")))
    assert end.value.code == 2
    assert 'pip install "housequest[train]"' in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
