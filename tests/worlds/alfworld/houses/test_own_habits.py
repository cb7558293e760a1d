"""A file of habits: what it changes, how it may be written, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from housequest.agent.config import configure
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.worlds.alfworld.houses.house import GeneratedHouses, make_house, placing, read_habits
from housequest.worlds.alfworld.text import load_counts
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.registry import make_world

EXAMPLE = Path(__file__).parents[4] / "examples" / "habits.yaml"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "habits.yaml"


@pytest.mark.heavy
def test_the_example_says_where_things_lie() -> None:
    habits = read_habits(EXAMPLE)
    eggs: set[str] = set()
    for seed in range(150):
        game = make_house(seed, habits).game
        for place, contents in zip(game.receptacles, game.start.contents, strict=True):
            for thing in contents:
                match game.objects[thing].split()[0]:
                    case "mug":
                        assert place.startswith("safe ")
                    case "book":
                        assert place.startswith("armchair ")
                    case "egg":
                        eggs.add(place.split()[0])
                    case _:
                        pass
    assert eggs == {"fridge", "cabinet"}


def test_a_world_is_made_by_it(file: Path) -> None:
    file.write_text("mug: {safe: 1.0}")
    world = make_world("alfworld", habits=file)
    made = make_house(7, placing(load_counts(), "mug", {"safe": 1}))
    assert world.task("generated:7").goal == made.sentence
    assert world.fingerprint("generated") != make_world("alfworld").fingerprint("generated")


def test_weights_count_by_their_share_and_the_order_not_at_all(file: Path) -> None:
    digests: set[str] = set()
    for text in (
        "mug: {safe: 1, shelf: 3}\nbook: {bed: 7}",
        "book: {bed: 0.5}\nmug:\n  shelf: 0.75\n  safe: 0.25",
        '{"mug": {"shelf": 3000, "safe": 1000}, "book": {"bed": 1}}',
    ):
        file.write_text(text)
        digests.add(GeneratedHouses(read_habits(file)).fingerprint())
    meant = placing(placing(load_counts(), "book", {"bed": 1}), "mug", {"safe": 1, "shelf": 3})
    assert digests == {GeneratedHouses(meant).fingerprint()}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "names no kind of thing"),
        ("{}", "names no kind of thing"),
        ("- mug", "this must be a table"),
        ("mugg: {safe: 1}", "Did you mean 'mug'"),
        ("chair: {safe: 1}", "no object named 'chair'"),
        ("mug: {saf: 1}", "Did you mean 'safe'"),
        ("mug: safe", "mug: this must be a table, not 'safe'"),
        ("mug: {}", "Say where a mug lies"),
        ("mug:", "mug: this must be a table"),
        ("mug: {safe: 0}", "mug.safe: the weight 0 must be a number from 0.001"),
        ("mug: {safe: -1}", "the weight -1"),
        ("mug: {safe: true}", "the weight True"),
        ("mug: {safe: .inf}", "the weight inf"),
        ("mug: {safe: .nan}", "the weight nan"),
        ("mug: {safe: '1'}", "the weight '1'"),
        ("mug: {safe: 1" + "0" * 500 + "}", "must be a number"),
        ("mug: {safe: [1]}", "must be a number"),
        ("7: {safe: 1}", "this must be a text, not 7"),
        ("mug: {7: 1}", "this must be a text, not 7"),
        ("mug: {safe: 1}\nmug: {shelf: 1}", "not valid YAML"),
        ("mug: {safe: 1", "not valid YAML"),
        ("mug: !!python/object/apply:os.system [id]", "the tag"),
        ("[" * 5_000, "nested too deep"),
        ("#" * 200_000, "more than 100,000 bytes"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nmug: *b", "anchors and aliases"),
        ('"\\e[2J": {safe: 1}', "no object named"),
    ],
)
def test_what_means_nothing_is_refused_by_name(text: str, reason: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_habits(file)
    assert str(caught.value).startswith(f"The file of habits '{file}'")
    assert reason in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["missing.yaml", ".", "a\0b", "\udcff", "x" * 5_000])
def test_what_cannot_be_read_is_refused_by_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_habits(tmp_path / name)


@pytest.mark.heavy
@given(content=st.binary(max_size=80) | st.from_regex(r"(mug|book): ?[{\[]?(safe|bed)?: ?[-0-9.eE]{0,6}[}\]]?").map(str.encode))
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_file_is_habits_or_refused(content: bytes, file: Path) -> None:
    file.write_bytes(content)
    try:
        habits = read_habits(file)
    except ConfigurationError as error:
        assert str(error).isprintable()
        return
    assert make_house(0, habits).plan


def test_the_scripted_world_has_none(file: Path) -> None:
    with pytest.raises(ConfigurationError, match="no option 'habits'"):
        make_world("scripted", habits=file)


NINEFOLD = "\n".join(
    ["z0: &a0 [x, x, x, x, x, x, x, x, x]"] + [f"z{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 25)]
)
MERGED = "\n".join(["z0: &a0 {x: 1}"] + [f"z{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 15)])


@pytest.mark.parametrize("bomb", [f"{NINEFOLD}\nmug: *a24", f"{NINEFOLD}\nmug: {{safe: *a24}}", MERGED])
def test_a_few_lines_that_would_fill_the_memory_are_refused(bomb: str, file: Path) -> None:
    file.write_text(bomb)
    with pytest.raises(ConfigurationError, match="anchors and aliases"):
        read_habits(file)


def test_a_record_says_by_which_habits_a_house_was_made(file: Path, tmp_path: Path) -> None:
    file.write_text("mug: {safe: 1}")
    flags = {"split": "generated", "limit": 1, "agent": "expert"}
    said: list[str | None] = []
    for habits in (None, str(file)):
        planned = make_run_spec(configure({**flags, "habits": habits}, tmp_path))
        said.append(planned.setup.habits)
    assert said[0] is None
    assert re.fullmatch(re.escape(file.name) + "@[0-9a-f]{12}", said[1] or "")


def test_a_path_may_be_given_as_text(file: Path) -> None:
    file.write_text("mug: {safe: 1}")
    assert make_world(habits=str(file)).fingerprint("generated") == make_world(habits=file).fingerprint("generated")
