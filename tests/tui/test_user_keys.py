"""Keys that a person sets: they do what the usual ones did, are shown, and are refused where they clash, with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from housequest.agent.config import configure
from housequest.tui.app import all_keys, read_keymap
from housequest.tui.play.screen import PlayScreen
from housequest.worlds.errors import ConfigurationError
from housequest.worlds.paths import config_folder
from tests.tui.screen import game, press, screen_text, showing, until, waiting


def written(text: str) -> Path:
    path = config_folder() / "housequest.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_a_table_the_keys_are_the_usual_ones() -> None:
    assert read_keymap() == {}
    written('agent = "expert"\n')
    assert read_keymap() == {}


@pytest.mark.parametrize("text", ['[keys]\nplay.step = "j"\n', '[keys.play]\nstep = "j"\n', '[keys]\n"play.step" = "j"\n'])
def test_the_ways_of_writing_mean_the_same(text: str) -> None:
    written(text)
    assert read_keymap() == {"play.step": "j"}
    assert configure().agent is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('# mine\n[keys]\nplay.stop = "j"\n', ":3: play.stop: there is no such key. Did you mean 'play.step'?"),
        ('[keys]\n\nplay.step = "ctrl+"\n', ":3: play.step: 'ctrl+' is not a key"),
        ("[keys]\nplay.step = 7\n", ":2: play.step: '7' is not a key"),
        ('[keys]\nplay.step = "a"\n', ":2: play.step: the key 'a' is taken by play.auto"),
        ('[keys.play]\nstep = "?"\n', ":2: play.step: the key 'question_mark' is taken by play.hint"),
        ('[keys]\nhome.watch = "ctrl+q"\n', ":2: home.watch: the key 'ctrl+q' is taken by app.quit"),
        ('keys = "vim"\n', ":1: keys is a table"),
    ],
)
def test_what_cannot_be_is_refused_by_its_line(text: str, said: str) -> None:
    path = written(text)
    with pytest.raises(ConfigurationError) as refused:
        read_keymap()
    assert str(path) in str(refused.value)
    assert said in str(refused.value)


def test_two_keys_can_change_places() -> None:
    written('[keys]\nplay.step = "a"\nplay.auto = "space"\n')
    assert read_keymap() == {"play.step": "a", "play.auto": "space"}


def test_the_example_of_the_reference_is_accepted() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "keys.md").read_text()
    written(page.partition("```toml\n")[2].partition("```")[0])
    assert set(read_keymap()) == {"play.step", "play.skill", "play.accept"}


def test_a_folder_of_somebody_else_sets_no_keys(tmp_path: Path) -> None:
    (tmp_path / "housequest.toml").write_text('[keys]\nplay.step = "j"\n')
    with pytest.raises(ConfigurationError, match="what the screen's keys do"):
        configure(folder=tmp_path)


def test_each_id_is_of_one_thing() -> None:
    for keys in all_keys().values():
        actions: dict[str, set[str]] = {}
        for key in keys:
            if key.id:
                actions.setdefault(key.id, set()).add(key.action)
        assert all(len(each) == 1 for each in actions.values())


@pytest.mark.heavy
@pytest.mark.anyio
async def test_a_chosen_key_plays_and_is_shown() -> None:
    app = showing(lambda: PlayScreen(game(), "step"))
    app.choose_keys({"play.accept": "y", "play.hint": "h"})
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: waiting(app) == "verdict")
        assert "y accept" in screen_text(app)
        assert "enter accept" not in screen_text(app)
        screen = app.screen
        assert isinstance(screen, PlayScreen)
        await press(pilot, "y")
        await until(pilot, lambda: screen.play_state.state.moment.turn == 1)
