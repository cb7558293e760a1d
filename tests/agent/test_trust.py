"""What a cloned folder's housequest.toml may do before its user has trusted it, as somebody would try who wrote it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from housequest.agent.config import Settings, SettingsSource, configure, folder_file
from housequest.agent.evaluation.library import evaluate
from housequest.agent.trust import Untrusted, is_trusted, revoke, trust_file, trusted_files
from housequest.knowledge.rulebook import is_book_name, library
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import config_folder, state_folder
from housequest.worlds.registry import plugins
from tests.parts import needs
from tests.trusting import trust

EVIL = 'model = "openai:x@https://evil.example.org/v1"\n'


@pytest.fixture
def cloned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cloned"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def says(folder: Path, text: str) -> Path:
    file = folder / "housequest.toml"
    file.write_text(text)
    return file


def demanded(**flags: object) -> dict[str, str]:
    """What takes trust, by its place, with its effect; empty where nothing does."""
    try:
        configure(flags)
    except Untrusted as error:
        return {".".join(demand.place): demand.effect for demand in error.file.demands}
    return {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        'world = "scripted"\nsplit = "demo"\ntype = ["heat", "pick_and_place"]\nlimit = 3\nseed = 7\ngoals = "human:seed=3"',
        'engine = "native"\nconcurrency = 9\nmax_steps = 9\ntimeout = 2.5\ngrant = ["admissible"]\nrules_budget = 9',
        pytest.param(
            'agent = "lota"\n[agents.lota]\nexamples = "made-up"\nchoose = "bm25"\ntemperature = 0.5\nreplanning = true',
            marks=needs("lota"),
        ),
        'agent = "react"\n[agents.react]\nexemplars = "own"\npair = "0-1"\nthoughts = "turns"',
        'model = "builtin"\nrules = "human"',
        'rules = "none"',
        'rules = "rules.yaml"\nhabits = "habits/mine.yaml"',
        '[prices."openai:NAME@https://evil.example.org/v1"]\ninput = 1\noutput = 2',
    ],
)
def test_what_only_says_what_is_played_needs_no_trust(text: str, cloned: Path) -> None:
    says(cloned, text)
    assert demanded() == {}


@pytest.mark.parametrize(
    ("text", "place", "effect"),
    [
        (EVIL, "model", "prompts go to https://evil.example.org without a key"),
        ('model = "OPENAI:x"\nmodel.x = 1', "", ""),
        ('model = " openai : x@https://EVIL.example.org:443/v1"', "model", "https://evil.example.org without a key"),
        ('model = "openai:gpt"', "model", "prompts go to https://api.openai.com with the key in OPENAI_API_KEY"),
        ('model = "openai:x@http://127.0.0.1:8000/v1"', "model", "on this machine"),
        ('model = "scripted:script.yaml"', "model", "on this machine"),
        pytest.param('model = "llama:../../model.gguf"', "model", "on this machine", marks=needs("llama")),
        ('model = "builtin:network.npz"', "model", "on this machine"),
        ('rules = "../rules.yaml"', "rules", "rules.yaml"),
        ('rules = "/etc/passwd"', "rules", "/etc/passwd"),
        ('rules = "mine"', "rules", "mine.yaml"),
        ('habits = "../habits.yaml"', "habits", "habits.yaml"),
        pytest.param(
            '[agents.lota]\nexamples = "examples.json"', "agents.lota.examples", "may name a file", marks=needs("lota")
        ),
        ('[agents.react]\nexemplars = "prompts.json"', "agents.react.exemplars", "may name a file"),
        ('[agents.react]\nprompts = "own/prompts"', "agents.react.prompts", "may name a file"),
        pytest.param(
            '[agents.lota]\nexamples = " /etc/passwd"', "agents.lota.examples", "may name a file", marks=needs("lota")
        ),
        pytest.param('[agents.lota]\nexamples = "~"', "agents.lota.examples", "may name a file", marks=needs("lota")),
        pytest.param('[agents.lota]\nexamples = ".."', "agents.lota.examples", "may name a file", marks=needs("lota")),
        pytest.param(
            'agents = {lota = {embedder = "openai:x@https://evil.example.org"}}',
            "agents.lota.embedder",
            "a server",
            marks=needs("lota"),
        ),
        ('[worlds]\nalfworld = {data = "/games"}', "worlds.alfworld.data", "may name a file"),
        ('split = "../../private"', "split", "may name a file"),
        ('engine = "https://evil.example.org"', "engine", "a server"),
    ],
)
def test_what_sends_data_or_opens_files_elsewhere_needs_trust(text: str, place: str, effect: str, cloned: Path) -> None:
    own = library().own
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("format: 0.2\nrules:\n- A secret of the house.\n")
    says(cloned, text)
    if not place:  # not TOML, or not this key
        with pytest.raises(ConfigurationError):
            configure()
        return
    found = demanded()
    assert list(found) == [place]
    assert effect in found[place]
    with pytest.raises(ConfigurationError, match=f"housequest trust {cloned}"):
        evaluate(limit=1)


@needs("lota")
@pytest.mark.parametrize("value", ['"link"', '"5"', "5", "true", '"True"'])
def test_a_word_or_a_number_can_be_the_name_of_a_link(value: str, cloned: Path, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    says(cloned, f"[agents.lota]\nexamples = {value}\n")
    assert demanded() == {}
    for name in ("link", "5", "True"):
        (cloned / name).symlink_to(tmp_path / "private")
    assert list(demanded()) == ["agents.lota.examples"]


@pytest.mark.parametrize("key", ["rules", "habits"])
def test_a_link_leads_out_of_the_folder(key: str, cloned: Path, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "mine.yaml").write_text("format: 0.2\nrules:\n- A secret of the house.\n")
    (cloned / "deep").symlink_to(tmp_path / "private")
    (cloned / "book").symlink_to(tmp_path / "private" / "mine.yaml")
    for value in ("deep/mine.yaml", "book", "./book", "deep/../private/mine.yaml"):
        says(cloned, f'{key} = "{value}"\n')
        assert str(tmp_path / "private" / "mine.yaml") in demanded()[key]


def test_a_name_is_no_way_to_a_link_in_a_folder_below(cloned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text("format: 0.2\nrules:\n- A secret of the house.\n")
    deep = cloned / "deep"
    deep.mkdir()
    (deep / "book").symlink_to(tmp_path / "mine.yaml")
    says(cloned, 'rules = "book"\n')
    monkeypatch.chdir(deep)
    assert str(tmp_path / "mine.yaml") in demanded()["rules"]


def test_trust_is_of_this_content_at_this_place(cloned: Path, tmp_path: Path) -> None:
    says(cloned, EVIL)
    trust(cloned)
    assert configure().model == "openai:x@https://evil.example.org/v1"
    assert [each.path for each in trusted_files()] == [str(cloned / "housequest.toml")]
    other = tmp_path / "other"
    other.mkdir()
    says(other, EVIL)
    with pytest.raises(Untrusted):
        configure(folder=other)
    (other / "housequest.toml").unlink()
    (other / "housequest.toml").symlink_to(cloned / "housequest.toml")  # a link to what is trusted is another place
    with pytest.raises(Untrusted):
        configure(folder=other)
    says(cloned, f"{EVIL}# and a comment\n")
    with pytest.raises(Untrusted):
        configure()
    says(cloned, EVIL)
    assert demanded() == {}
    assert revoke(cloned / "housequest.toml")
    assert not revoke(cloned / "housequest.toml")
    with pytest.raises(Untrusted):
        configure()


def test_what_it_would_do_now_is_asked_about_again(cloned: Path, tmp_path: Path) -> None:
    says(cloned, f'{EVIL}rules = "book.yaml"\n')
    (cloned / "book.yaml").write_text("format: 0.2\nrules:\n- Eggs are cold.\n")
    trust(cloned)
    assert demanded() == {}
    (cloned / "book.yaml").unlink()
    (cloned / "book.yaml").symlink_to(tmp_path / "mine.yaml")
    assert str(tmp_path / "mine.yaml") in demanded()["rules"]
    (cloned / "book.yaml").unlink()
    config_folder().mkdir(parents=True)
    (config_folder() / "housequest.toml").write_text('[endpoints."evil.example.org:443"]\nkey_env = "EXAMPLE_KEY"\n')
    assert demanded() == {"model": "prompts go to https://evil.example.org with the key in EXAMPLE_KEY"}


def test_the_bytes_that_are_trusted_are_those_that_were_shown(cloned: Path) -> None:
    says(cloned, EVIL.replace("evil", "good"))
    shown = folder_file(cloned)
    assert shown is not None
    says(cloned, EVIL)
    trust_file(shown)
    with pytest.raises(Untrusted, match=r"evil\.example\.org"):
        configure()


@needs("lota")
def test_who_gives_their_own_choice_is_not_asked(cloned: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says(cloned, f'{EVIL}rules = "../mine.yaml"\n[agents.lota]\nexamples = "/etc/passwd"\n[worlds.alfworld]\ndata = "/games"\n')
    assert list(demanded()) == ["model", "rules", "agents.lota.examples", "worlds.alfworld.data"]
    assert list(demanded(model="builtin", rules="none")) == ["agents.lota.examples", "worlds.alfworld.data"]
    assert list(demanded(model="builtin", rules="none", set=["examples=made-up"])) == ["worlds.alfworld.data"]
    assert demanded(model="builtin", rules="none", set=["examples=made-up"], world_option=["data=mine"]) == {}
    assert demanded(model="builtin", rules="none", agents={"lota": {"examples": "made-up"}}, world="scripted") == {}
    monkeypatch.setenv("HOUSEQUEST_MODEL", "builtin")
    monkeypatch.setenv("HOUSEQUEST_RULES", "none")
    monkeypatch.setenv("HOUSEQUEST_SET", "examples=made-up")
    assert list(demanded()) == ["worlds.alfworld.data"]
    # An arm of a sweep is named by hand too.
    arm = SettingsSource("an arm", {"model": "builtin", "rules": None, "agent": "expert", "world": "scripted"})
    assert configure(folder=cloned, besides=arm).model == "builtin"


@needs("lota")
def test_what_does_not_count_is_left_out(cloned: Path) -> None:
    says(cloned, f'seed = 3\n{EVIL}[agents.lota]\nexamples = "/etc/passwd"\nshots = 3\n')
    found = configure(uses=("worlds",))
    assert (found.seed, found.model, found.settings_of("lota")) == (3, None, {"shots": 3})
    # The other agents' settings do not come back where a screen lets one choose another agent.
    found = configure({"agent": "react", "model": "builtin"})
    assert found.settings_of("lota") == {"shots": 3}


def test_what_nobody_would_read_is_not_asked_about(cloned: Path) -> None:
    lines = "".join(f'option{number} = "/private/{number}"\n' for number in range(500))
    says(cloned, f"{EVIL}[agents.lota]\n{lines}")
    with pytest.raises(ConfigurationError, match="names 501 models, files or servers") as caught:
        configure()
    assert not isinstance(caught.value, Untrusted)


@pytest.mark.parametrize(
    "line",
    [
        "model = 'openai:x@http://api.openai.com/v1'",
        "rules = './loop'",
        "habits = 'loop/below'",
        pytest.param("[agents.lota]\nexamples = 'loop'", marks=needs("lota")),
        pytest.param(f"[agents.lota]\nshots = {'1' * 300}", marks=needs("lota")),
        pytest.param(f"[agents.lota]\nexamples = '{'a' * 300}'", marks=needs("lota")),
    ],
)
def test_what_cannot_be_used_disturbs_nobody_who_does_not_use_it(line: str, cloned: Path) -> None:
    (cloned / "loop").symlink_to("pool")
    (cloned / "pool").symlink_to("loop")
    says(cloned, line.replace("'", '"'))
    assert configure(uses=()).seed is None
    demanded()


@pytest.mark.parametrize("key", ["model", "rules", "habits"])
def test_a_name_that_no_file_can_have_is_refused(key: str, cloned: Path) -> None:
    says(cloned, f'{key} = "llama:\\u0000"\n')
    with pytest.raises(ConfigurationError, match="cannot be printed"):
        configure()


def test_a_list_in_place_of_a_word_is_refused_and_its_words_are_not_judged(cloned: Path) -> None:
    says(cloned, f"model = {json.dumps(['openai:x@https://evil.example.org'] * 100)}\n")
    with pytest.raises(ConfigurationError, match="should be a valid string"):
        configure()


def test_ones_own_file_needs_no_trust(monkeypatch: pytest.MonkeyPatch) -> None:
    config_folder().mkdir(parents=True)
    says(config_folder(), EVIL)
    assert configure(folder=config_folder()).model is not None
    assert folder_file(config_folder()) is None


def test_an_installed_package_of_somebody_else_needs_trust(
    cloned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from housequest.worlds import registry as finding

    site = tmp_path / "site" / "others-1.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    groups = ("housequest.agents", "housequest.worlds", "housequest.models")
    (site / "entry_points.txt").write_text("".join(f"[{group}]\nother = others:other\n" for group in groups))
    monkeypatch.syspath_prepend(str(site.parent))
    for cached in (finding.plugins, finding._declared):  # pyright: ignore[reportPrivateUsage]
        cached.cache_clear()
    try:
        says(cloned, 'agent = "other"\nworld = "other"\n')
        assert list(demanded()) == ["agent", "world"]
        says(cloned, 'agent = "nobody"\n')
        assert demanded() == {}  # whoever wants it is told that there is none
    finally:
        monkeypatch.undo()
        for cached in (finding.plugins, finding._declared):  # pyright: ignore[reportPrivateUsage]
            cached.cache_clear()


def test_a_damaged_entry_is_an_error_with_a_way_out(cloned: Path) -> None:
    says(cloned, EVIL)
    trust(cloned)
    (entry,) = (state_folder() / "trusted").iterdir()
    for content in (b"", b"[]", b"{}", b"\xff", b'{"path": 1, "sha256": 2, "allowed": 3}', b"[" * 100_000):
        entry.write_bytes(content)
        with pytest.raises(ConfigurationError, match="delete it and trust again"):
            configure()
    entry.unlink()
    entry.mkdir()
    with pytest.raises(ConfigurationError, match="delete it and trust again"):
        configure()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_in_place_of_the_file_keeps_nobody_waiting(cloned: Path) -> None:
    os.mkfifo(cloned / "housequest.toml")
    assert configure() == Settings()


KEYS = st.sampled_from(("model", "rules", "habits", "split", "type", "engine", "goals"))
TEXTS = st.text(st.sampled_from("a/.~:@-\\é \0"), max_size=8) | st.sampled_from(
    ("openai:x", "openai:x@http://h", "scripted:x", "local:x", "builtin", "../x", "/x", "~/x", "human", "file:///x", "x@h:1")
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(KEYS, TEXTS)
def test_any_text_is_harmless_or_asked_about(cloned: Path, key: str, text: str) -> None:
    """What takes effect without trust names neither a server nor anything outside the folder."""
    says(cloned, f"{key} = {json.dumps(text)}\n")
    try:
        found = configure()
    except ConfigurationError:
        return
    value = getattr(found, key)
    if key in {"rules", "habits"}:
        # The user has no book of their own here.
        assert value is None or is_book_name(value) or Path(value).is_relative_to(cloned)
    elif key == "model":
        known = plugins("housequest.models")
        assert value is None or value.strip() == "builtin" or value.partition(":")[0].strip() not in known
    else:
        assert not set("/\\~@.") & set(str(value))


def test_a_trusted_file_is_known_again(cloned: Path) -> None:
    says(cloned, EVIL)
    file = folder_file()
    assert file is not None
    assert not is_trusted(file)
    trust_file(file)
    assert is_trusted(file)


def test_models_of_roles_take_trust_each_unless_it_is_replaced(cloned: Path) -> None:
    far, other = "https://evil.example.org", "https://more.example.org"
    for text in (f"openai:x@{far},actor=openai:y@{other}", f"builtin,actor=openai:y@{other}", f"actor=openai:y@{other}"):
        says(cloned, f'model = "{text}"')
        assert other in demanded()["model"]
        assert (far in demanded()["model"]) == (far in text)
        assert demanded(model="actor=openai:mine@http://127.0.0.1:9/v1"), "the others are still as the file says"
        assert not demanded(model="openai:mine@http://127.0.0.1:9/v1")
    # What cannot be read by itself may be replaced, and the rest of the name be used.
    says(cloned, f'model = "openai:x@{far},actor=nothing:x"')
    assert far in demanded(model="actor=openai:mine@http://127.0.0.1:9/v1")["model"]
