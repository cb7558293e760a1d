"""The configuration: who wins, who is named when something is wrong, and what a folder's file may not say."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from housequest.agent.config import Prices, Settings, configure
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import config_folder
from tests.trusting import trust


def own(text: str | bytes) -> Path:
    """Write the user's own file."""
    file = config_folder() / "housequest.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def near(folder: Path, text: str | bytes) -> Path:
    """Write a folder's file."""
    file = folder / "housequest.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def test_nothing_configured_is_the_defaults(tmp_path: Path) -> None:
    settings = configure(folder=tmp_path)
    assert settings == Settings()
    assert settings.origin("agent") == "the default"


def test_later_sources_win_and_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = own('agent = "react"\nmodel = "scripted:own"\nseed = 1\nsplit = "train"\nmax_steps = 10')
    theirs = near(tmp_path, 'model = "scripted:near"\nseed = 2\nsplit = "valid_seen"')
    trust(tmp_path)
    monkeypatch.setenv("HOUSEQUEST_SEED", "3")
    monkeypatch.setenv("HOUSEQUEST_SPLIT", "valid_train")
    found = configure({"split": "example", "limit": None}, tmp_path)
    assert (found.agent, found.model, found.seed, found.split, found.max_steps) == ("react", "scripted:near", 3, "example", 10)
    assert found.origin("agent") == f"agent in {mine}"
    assert found.origin("model") == f"model in {theirs}"
    assert found.origin("seed") == "HOUSEQUEST_SEED"
    assert found.origin("split") == "--split"


def test_the_nearest_file_upwards_counts_alone(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    near(tmp_path, "seed = 1\nlimit = 9")
    near(tmp_path / "a", "seed = 2")
    found = configure(folder=deep)
    assert (found.seed, found.limit) == (2, None)


def test_the_users_own_file_is_not_taken_for_a_folders(tmp_path: Path) -> None:
    own('[endpoints."models.example.org:443"]\nkey_env = "EXAMPLE_KEY"')
    assert configure(folder=config_folder()) == Settings()


@pytest.mark.parametrize("text", ['[endpoints."evil.example.org:443"]\nkey_env = "MY_KEY"', 'key_env = "MY_KEY"'])
def test_a_folders_file_says_nothing_of_keys(text: str, tmp_path: Path) -> None:
    file = near(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        configure(folder=tmp_path)
    assert str(file) in str(caught.value)
    assert str(config_folder() / "housequest.toml") in str(caught.value)


def test_settings_belong_to_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own("[agents.react]\nmax_tokens = 64\n[agents.reasoner-actor]\non_hint = false")
    near(tmp_path, "[agents.react]\ntemperature = 0.5")
    monkeypatch.setenv("HOUSEQUEST_SET", "max_tokens=32")
    found = configure({"set": ["temperature=1"]}, tmp_path)
    assert found.settings_of("react") == {"max_tokens": 64, "temperature": "1"}
    found = configure(folder=tmp_path)
    assert found.settings_of("react") == {"max_tokens": "32", "temperature": 0.5}
    assert found.settings_of("reasoner-actor") == {"on_hint": False, "max_tokens": "32"}


def test_prices_belong_to_a_model(tmp_path: Path) -> None:
    own(
        '[prices."openai:small"]\ninput = 1\noutput = 4\n'
        '[prices."openai:large@http://127.0.0.1:8000/v1"]\ninput = 2.5\noutput = 0'
    )
    near(tmp_path, '[prices."openai:small"]\ncached = 0.1')
    found = configure(folder=tmp_path)
    assert found.prices_of("openai:small") == Prices(input=1, cached=0.1, output=4)
    assert found.prices_of("openai:small@https://models.example.org/v1") == Prices(input=1, cached=0.1, output=4)
    assert found.prices_of("openai:large@http://127.0.0.1:8000/v1") == Prices(input=2.5, output=0)
    assert found.prices_of("openai:large") is None


def test_lists_in_the_environment_are_separated_by_commas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOUSEQUEST_TYPE", "heat, cool")
    monkeypatch.setenv("HOUSEQUEST_GRANT", "type")
    monkeypatch.setenv("HOUSEQUEST_MODEL", "")
    found = configure(folder=tmp_path)
    assert (found.type, found.grant, found.model) == (("heat", "cool"), ("type",), None)


@pytest.mark.parametrize("key", ["rules", "habits"])
def test_a_file_lies_beside_the_one_that_names_it(key: str, tmp_path: Path) -> None:
    near(tmp_path, f'{key} = "mine.yaml"')
    deep = tmp_path / "deep"
    deep.mkdir()
    assert getattr(configure(folder=deep), key) == str(tmp_path / "mine.yaml")
    assert getattr(configure({key: "here.yaml"}, deep), key) == "here.yaml"
    near(tmp_path, f'{key} = "../others.yaml"')
    trust(tmp_path)
    assert getattr(configure(folder=deep), key) == str(tmp_path.parent / "others.yaml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('modle = "x"', "Did you mean 'model'?"),
        ("zzz = 1", "Known: world"),
        ("limit = 0", "limit in"),
        ("limit = true", "should be a number"),
        ("seed = -1", "seed in"),
        ('limit = "many"', "'many'"),
        ("grant = ['everything']", "'admissible', 'diagnosis', 'type', 'view' or 'plan'"),
        ('agent = ""', "it is empty"),
        ('agent = "\\u001b[31m"', "cannot be printed"),
        (f'agent = "{"x" * 5_000}"', "longer than"),
        ("agents = 3", "agents in"),
        ("[agents.nobody]\nx = 1", "nobody"),
        ("[agents.react]\nx = [1]", "'react', 'x'"),
        ("set = {a = 1}", "unknown"),
        ("prices = 3", "prices in"),
        ("[prices.small]\ninput = 1", "'small', 'output' is missing"),
        ("[prices.small]\ninput = 1\noutput = -2", "-2 cannot be used: it should be greater than or equal to 0"),
        ("[prices.small]\ninput = true\noutput = 2", "should be a number"),
        ("[prices.small]\ninput = nan\noutput = 2", "'small', 'input'"),
        ("[prices.small]\ninput = 'cheap'\noutput = 2", "'cheap'"),
        ("[prices.small]\ninput = 1\noutptu = 2\noutput = 2", "Did you mean 'output'?"),
        ("[prices.small]\ninput = 1\noutput = 2\nzzz = 3", "Known: input, output, cached"),
        ("limit = ", "is not TOML"),
        ("x = " + "[" * 5_000, "is not TOML"),
        ("limit = " + "9" * 5_000, "is not TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"\x00", "is not TOML"),
        (b"# " + b"x" * (1 << 20), "it has more than"),
    ],
)
def test_what_is_wrong_is_named_with_its_file(text: str | bytes, told: str, tmp_path: Path) -> None:
    file = near(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        configure(folder=tmp_path)
    assert str(file) in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("HOUSEQUEST_LIMTI", "3", "HOUSEQUEST_LIMIT"),
        ("HOUSEQUEST_HOUSE", "3", "HOUSEQUEST_HOME"),
        ("HOUSEQUEST_LIMIT", "three", "HOUSEQUEST_LIMIT: 'three'"),
        ("HOUSEQUEST_SET", "three", "KEY=VALUE"),
        ("HOUSEQUEST_AGENTS", "x", "unknown"),
        ("HOUSEQUEST_PRICES", "x", "unknown"),
    ],
)
def test_what_is_wrong_is_named_with_its_variable(
    variable: str, value: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError) as caught:
        configure(folder=tmp_path)
    assert told in str(caught.value)


@pytest.mark.parametrize("flags", [{"limit": -3}, {"seed": 1 << 40}, {"agent": "\udcff"}, {"max_steps": 0}, {"set": ["=x"]}])
def test_what_is_wrong_is_named_with_its_flag(flags: dict[str, object], tmp_path: Path) -> None:
    flag = f"--{next(iter(flags)).replace('_', '-')}"
    with pytest.raises(ConfigurationError) as caught:
        configure(flags, tmp_path)
    assert str(caught.value).startswith(flag)
    assert str(caught.value).encode()


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "housequest.toml").mkdir()
    assert configure(folder=tmp_path) == Settings()


def test_a_working_folder_that_is_gone(tmp_path: Path) -> None:
    assert configure(folder=tmp_path / "gone") == Settings()


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200)
    | st.from_regex(r"(agent|limit|grant|agents|prices|set|seed|rules) ?= ?[\[\]{}'\"a-z0-9.=, ]{0,30}").map(str.encode)
)
def test_any_file_is_a_configuration_or_an_error(tmp_path: Path, content: bytes) -> None:
    near(tmp_path, content)
    try:
        assert isinstance(configure(folder=tmp_path), Settings)
    except ConfigurationError as error:
        assert str(tmp_path) in str(error)
        assert str(error).encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(sorted(set(Settings.model_fields) - {"set", "world_option"})), _VALUES))
def test_any_flags_are_a_configuration_or_an_error(tmp_path: Path, flags: dict[str, object]) -> None:
    try:
        assert isinstance(configure(flags, tmp_path), Settings)
    except ConfigurationError as error:
        assert str(error).encode()


def test_options_of_a_world_come_from_its_table_and_from_the_spot(tmp_path: Path) -> None:
    near(tmp_path, b'[worlds.alfworld]\ndata = "/games"\n')
    trust(tmp_path)
    assert configure(folder=tmp_path).options_of("alfworld") == {"data": "/games"}
    settings = configure({"world_option": ["data=/others"], "goals": "human"}, tmp_path)
    assert settings.options_of("alfworld") == {"data": "/others", "goals": "human"}
    assert settings.options_of("scripted") == {"data": "/others", "goals": "human"}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (b"[worlds.alfworl]\ndata = 'x'\n", "no world named 'alfworl'.* Did you mean 'alfworld'"),
        (b"[worlds.alfworld]\ngoals = 'human'\n", "goals is a setting of its own"),
    ],
)
def test_a_table_of_a_world_that_cannot_be_is_refused(tmp_path: Path, table: bytes, words: str) -> None:
    near(tmp_path, table)
    with pytest.raises(ConfigurationError, match=words):
        configure(folder=tmp_path)
