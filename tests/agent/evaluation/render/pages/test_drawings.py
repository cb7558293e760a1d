"""The drawings beside the turns on a page: each once, self-contained, in words too, and within their budget."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from housequest.agent.config import configure
from housequest.agent.episodes.events import Body, Event, Started, Stepped, branch
from housequest.agent.episodes.record import read_episode
from housequest.agent.evaluation.analysis.run import Run, read_for_comparison
from housequest.agent.evaluation.render.pages.episodes import SIZE, Drawings, EpisodeDrawings, Limits
from housequest.agent.evaluation.render.pages.render import comparison_page, figures_page, page_environment
from housequest.agent.evaluation.render.report import RunReport
from housequest.agent.evaluation.runs.batch import run_batch
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.worlds.base import Pictured
from housequest.worlds.paths import FORMAT
from housequest.worlds.registry import make_world
from tests.agent.evaluation.recorded import paired
from tests.agent.evaluation.render.pages.outline import Outline

pytestmark = pytest.mark.heavy


def lived(folder: Path, **flags: object) -> Run:
    """A run of the expert."""
    asyncio.run(run_batch(make_run_spec(configure({"agent": "expert", "split": "generated:0..1", **flags})), folder))
    return read_for_comparison(RunFolder(folder))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return lived(tmp_path_factory.mktemp("run") / "run")


def pictures(page: str) -> list[dict[str, str]]:
    """The attributes of each picture on a page."""
    Outline(page)
    return [dict(re.findall(r'(\w+)="([^"]*)"', image)) for image in re.findall(r"<img [^>]*>", page)]


def test_each_turn_that_changed_anything_has_a_drawing(run: Run, tmp_path: Path) -> None:
    page = figures_page(RunReport(run), tmp_path / "page.html").decode()
    found = pictures(page)
    assert len(found) == page.count('<figure class="drawing">') == sum(result.turns + 1 for result in run.results)
    opening, *turns = found[: run.results[0].turns + 1]
    assert opening["alt"].startswith("The house from above, a made-up plan. Back right: shelf 1; middle left: ")
    assert opening["alt"].endswith("The player stands in the middle of the room, and holds nothing.")
    assert turns[1]["alt"] == "The player stands at shelf 1, and holds cloth 1. New: cloth 1."
    for image in found:
        assert image["loading"] == "lazy"
        assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")
        assert int(image["width"]) <= SIZE[0] and int(image["height"]) <= SIZE[1]
        assert f".{image['class']}{{background-image:url(data:image/png;base64," in page
    assert ">+*cloth 1</text>" in page
    assert "this plan is made up" in page
    assert "The pictures show the house as far as the player knew it; + stands before what is new" in page


def test_an_episode_by_a_camera_is_drawn_as_its_camera_saw_it(tmp_path: Path) -> None:
    flags = {"world": "alfred", "agent": "expert", "split": "example", "limit": 1, "max_steps": 5}
    spec = make_run_spec(configure(flags), curiosity=1.0)
    asyncio.run(run_batch(spec, tmp_path / "run"))
    run = read_for_comparison(RunFolder(tmp_path / "run"))
    page = figures_page(RunReport(run), tmp_path / "page.html").decode()
    opening, *turns = pictures(page)
    assert len(turns) == page.count('<figure class="drawing">') - 1 == run.results[0].steps == 5
    assert opening["alt"].startswith("What the camera sees: ") and "holds nothing" in opening["alt"]
    # Nothing is told that no picture has shown by then.
    world = make_world("alfred")
    env = world.open(world.task("example:1"))
    env.reset()
    assert isinstance(env, Pictured)
    frame = env.frame()
    shown = {frame.names[number] for number in map(int, np.unique(frame.ids)) if number >= 0}
    told = {f"{kind} {number}" for kind, number in re.findall(r"([a-z]+) ([0-9]+)", opening["alt"])}
    assert told and told <= shown
    assert "The pictures show what the player's camera saw; + stands before what is new" in unescape(page)


def test_a_page_with_drawings_needs_nothing_else(run: Run, tmp_path: Path) -> None:
    page = figures_page(RunReport(run), tmp_path / "page.html").decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert "img-src data:;" in policy
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src &#39;sha256-{digest}&#39;" in policy
    assert set(re.findall(r"(?:url\(|src=\")([a-z]+:)", page)) == {"data:"}
    assert not re.search(r"https?:", page)


def test_a_page_is_the_same_each_time(run: Run, tmp_path: Path) -> None:
    assert figures_page(RunReport(run), tmp_path / "page.html") == figures_page(RunReport(run), tmp_path / "page.html")


def test_what_has_no_room_is_not_drawn(run: Run, tmp_path: Path) -> None:
    whole = figures_page(RunReport(run), tmp_path / "page.html").decode()
    first = run.results[0].turns + 1
    length = sum(map(len, re.findall(r'<figure class="drawing">.*?</figure>', whole, re.DOTALL)[:first]))
    (opening,) = re.findall(r"\.r1{background-image:url\((.*?)\)", whole)
    for missing in (0, 1):
        some = figures_page(RunReport(run), tmp_path / "page.html", Limits(drawings=length + len(opening) - missing)).decode()
        assert len(pictures(some)) == first - missing
        assert "Episodes that have some: 1; there was no room for more." in some
    none = figures_page(RunReport(run), tmp_path / "page.html", Limits(drawings=0)).decode()
    assert pictures(none) == [] and "as far as the player knew" not in none
    assert Outline(none).text[:20] == Outline(whole).text[:20]


def test_two_runs_are_drawn_beside_each_other(run: Run, tmp_path: Path) -> None:
    other = lived(tmp_path / "by-name", set=["search=name"])
    compared = paired(run, other)
    page = comparison_page(compared, tmp_path / "page.html").decode()
    assert len(pictures(page)) == page.count('<figure class="drawing">')


def test_a_house_with_coordinates_is_no_made_up_plan(tmp_path: Path) -> None:
    example = lived(tmp_path / "example", split="example", limit=1)
    page = figures_page(RunReport(example), tmp_path / "page.html").decode()
    assert pictures(page)[0]["alt"].startswith("The house from above, the plan. ")
    assert "made up" not in page


_ROOM = """You are in the middle of a room. Looking quickly around you, you see a shelf 1, and a sinkbasin 1.

Your task is to: put a mug in the sinkbasin."""


def said(opening: str, *answers: str) -> list[Event]:
    started = Started(
        world="alfworld", engine="native", task="x", split="gone", number=1, type="t", goal="put a <b>mug</b> in the sink",
        wording="template", agent="human", max_turns=9, seed=0, opening=opening, format=FORMAT,
    )  # fmt: skip
    steps = (Stepped(turn=turn, command="go to a", observation=text, accepted=True) for turn, text in enumerate(answers, 1))
    bodies: tuple[Body, ...] = (started, *steps)
    return [Event(id=number, parent=number - 1 if number else None, body=body) for number, body in enumerate(bodies)]


def draw_path(path: list[Event]) -> EpisodeDrawings:
    return Drawings(page_environment(), 1 << 20).of(path)


def test_a_record_of_another_place_gets_a_made_up_plan(run: Run) -> None:
    (first, *_) = (list(read_episode(run.folder.episode(task))) for task in run.manifest.tasks)
    assert isinstance(first[0].body, Started)
    elsewhere = first[0].model_copy(update={"body": first[0].body.model_copy(update={"split": "gone", "task": "a/b"})})
    drawn = draw_path(branch([elsewhere, *first[1:]]))
    assert drawn.made_up and len(drawn.pictures) == run.results[0].turns + 1


def test_a_turn_without_news_has_no_drawing() -> None:
    see = "You arrive at shelf 1. On the shelf 1, you see a mug 1."
    drawn = draw_path(said(_ROOM, see, "Nothing happens."))
    assert list(drawn.pictures) == [(0, ""), (1, "")]
    assert not draw_path(said("You are nowhere.")).pictures
    assert not draw_path([]).pictures
