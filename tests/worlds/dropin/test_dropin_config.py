"""alfworld's configuration file, read as its scripts read it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from housequest.worlds.dropin import load_config
from housequest.worlds.dropin.config import setting
from housequest.worlds.errors import ConfigurationError
from tests.worlds.alfworld.houses.test_own_habits import MERGED, NINEFOLD

CONFIG = """
dataset:
  data_path: '$ALFWORLD_DATA/json_2.1.1/train'   # where
  num_train_games: -1
env: {type: AlfredTWEnv, domain_randomization: False, task_types: [1, 2]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "base_config.yaml"
    path.write_text(CONFIG, "utf-8")
    return path


def test_the_file_and_what_replaces_it(file: Path) -> None:
    config = load_config([str(file), "-p", "dataset.num_train_games=5", "env.task_types=[4]"])
    assert config == {
        "dataset": {"data_path": "$ALFWORLD_DATA/json_2.1.1/train", "num_train_games": 5},
        "env": {"type": "AlfredTWEnv", "domain_randomization": False, "task_types": [4]},
    }


def test_a_script_gives_its_own_arguments(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["script.py", str(file)])
    assert load_config()["env"]["type"] == "AlfredTWEnv"


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("env.typ=x", "no 'env.typ'. Did you mean 'type'"),
        ("envs.type=x", "no 'envs.type'. Did you mean 'env'"),
        ("env.type.deeper=x", "no 'env.type.deeper'"),
        ("env", "'env' sets nothing"),
        ("env.type=[", "The value of 'env.type', line 1: this is not valid YAML"),
        ("env.type=\ud800", "The value of 'env.type': this is not valid YAML"),
        ("=", "no ''"),
    ],
)
def test_a_value_for_nothing_is_refused(file: Path, param: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load_config([str(file), "-p", param])
    assert message in str(raised.value)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "content",
    [b"", b"3", b"[1]", b"a: [", b"\x00", b"\xff", b"a: 1\na: 2", b"[" * 2000, b"? {}\n: 1", b"!x a"],
    ids=lambda content: repr(content[:8]),
)
def test_what_is_no_configuration_is_refused_by_name(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"base_config\.yaml"):
        load_config([str(file)])


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=60) | st.text("ab:{}[]&*!'\"- \n#?|>%", max_size=40).map(str.encode))
def test_any_content_is_a_mapping_or_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any.yaml"
    path.write_bytes(content)
    try:
        assert isinstance(load_config([str(path)]), dict)
    except ConfigurationError as error:
        assert "any.yaml" in str(error)


def test_a_file_that_cannot_be_read_or_is_far_too_large_is_refused(file: Path) -> None:
    for name in (str(file.parent), str(file.parent / "none.yaml"), "a\0b"):
        with pytest.raises(ConfigurationError, match="cannot be read"):
            load_config([name])
    file.write_bytes(b"#" * 1_000_001)
    with pytest.raises(ConfigurationError, match="more than"):
        load_config([str(file)])


def test_a_setting_has_its_kind() -> None:
    assert setting({"a": {"b": 0}}, "a.b", float) == 0.0
    assert setting({}, "a.b", int, -1) == -1
    with pytest.raises(ConfigurationError, match=r"a\.b is True; give a whole number"):
        setting({"a": {"b": True}}, "a.b", int)


@pytest.mark.parametrize("bomb", [NINEFOLD, MERGED])
def test_a_few_lines_that_would_fill_the_memory_are_refused(bomb: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(bomb)
    with pytest.raises(ConfigurationError, match="anchors and aliases"):
        load_config([str(tmp_path / "config.yaml")])
