"""The pages: whole, self-contained, and the same whatever games and models say."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from housequest.agent.evaluation.render.pages.episodes import Limits
from housequest.agent.evaluation.render.pages.render import MOST_ON_ONE, PER_PAGE, comparison_page, figures_page, figures_pages
from housequest.agent.evaluation.render.report import RunReport
from tests.agent.evaluation.recorded import Lived, as_it_is, paired, run
from tests.agent.evaluation.render.pages.outline import Outline

FIRST = [
    Lived(1, calls=True),
    Lived(2, "lost", steps=5, calls=True, type="light"),
    Lived(3, "error", steps=0),
    Lived(4, None),
    Lived(5, assisted=True),
]
SECOND = [Lived(1, "lost"), Lived(2, type="light", calls=True), Lived(3), Lived(4), Lived(5)]


def pages(folder: Path, said: object = as_it_is, **room: int) -> tuple[str, str]:
    """The page of a run and that of a comparison, where ``said`` says every text."""
    first, second = run(folder / "a", FIRST, said=said), run(folder / "b", SECOND, said=said, seed=1)  # type: ignore[arg-type]
    page = folder / "page.html"
    limits = Limits(**room)
    compared = comparison_page(paired(first, second), page, limits)
    return figures_page(RunReport(first), page, limits).decode(), compared.decode()


def test_everything_is_in_the_page(tmp_path: Path) -> None:
    of_run, of_both = (Outline(page) for page in pages(tmp_path))
    text = " ".join(" ".join(of_run.text).split())
    assert "1 of 3 tasks won, 1 not played yet: 33.3 % success" in text
    for part in ("the model failed", "it answered 500", "You see a lamp.", "perhaps there", "Thought: perhaps", "unfinished"):
        assert part in text
    assert "Assisted by a person and left out demo/5-task" in text
    text = " ".join(" ".join(of_both.text).split())
    for part in ("won by the second: demo/2-task", "Left out, assisted by a person: 1", "seed", "McNemar"):
        assert part in text


def test_a_page_needs_nothing_else(tmp_path: Path) -> None:
    for page in pages(tmp_path):
        outline = Outline(page)
        assert [tag for tag, _ in outline.elements].count("script") == 1
        assert not {"link", "img", "iframe", "object", "embed", "base"} & {tag for tag, _ in outline.elements}
        assert not {"src", "style", "action"} & {name for _, names in outline.elements for name in names}
        assert not any(name.startswith("on") for _, names in outline.elements for name in names)
        assert not re.search(r"url\(|@import|https?:", page)
        policy = next(value for tag, name, value in outline.attributes if name == "content" and "default-src" in value)
        assert policy.startswith("default-src 'none'; ")
        for tag, source in (("style", "style-src"), ("script", "script-src")):
            inside = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
            assert inside is not None
            digest = base64.b64encode(hashlib.sha256(inside[1].encode()).digest()).decode()
            assert f"{source} 'sha256-{digest}'" in policy


def test_links_lead_somewhere(tmp_path: Path) -> None:
    for page in pages(tmp_path):
        outline = Outline(page)
        assert len(set(outline.ids)) == len(outline.ids)
        assert outline.links
        assert {link.removeprefix("#") for link in outline.links} <= set(outline.ids)
        named = {value for _, name, value in outline.attributes if name == "aria-labelledby"}
        assert named <= set(outline.ids)


def test_charts_and_tables_can_be_read_aloud(tmp_path: Path) -> None:
    for page, said in zip(pages(tmp_path), ("heat: 50.0 % (1/2)", "heat: 50.0 % (1/2), 50.0 % (1/2)"), strict=True):
        outline = Outline(page)
        assert any(said in value for _, name, value in outline.attributes if name == "aria-label")
        for tag, names in outline.elements:
            if tag == "svg":
                assert {"role", "aria-label"} <= set(names)
            if tag == "th":
                assert "scope" in names
        counts = [[tag for tag, _ in outline.elements].count(tag) for tag in ("table", "caption", "svg", "figcaption")]
        assert counts[0] == counts[1] and counts[2] == counts[3] >= 2


def test_what_does_not_fit_is_a_link_to_its_record(tmp_path: Path) -> None:
    for page in pages(tmp_path / "odd #?%41 name", transcripts=2_000, calls=0):
        records = [link for link in Outline(page).links if not link.startswith("#")]
        assert records
        for link in records:
            assert link.startswith("./")
            assert "#" not in link and "?" not in link
            assert (tmp_path / "odd #?%41 name" / unquote(link)).is_file()
        assert "are links to their records" in page
        assert "Too much for this page" in page
        assert "Thought: perhaps" not in page


@pytest.mark.heavy
def test_a_large_run_has_an_index_and_a_page_for_each_hundred_episodes(tmp_path: Path) -> None:
    lived = [Lived(number, "won" if number % 3 else "lost", steps=3) for number in range(1, MOST_ON_ONE + 2)]
    made, index = RunReport(run(tmp_path / "large", lived)), tmp_path / "odd #?%41 name.html"
    files = dict(figures_pages(made, index))
    assert [*files][-1] == index, "the index comes last, when all that it leads to is there"
    links = [link for link in Outline(files[index].decode()).links if not link.startswith("#")]
    assert [index.parent / unquote(link) for link in links] == [*files][:-1]
    assert len(links) == -(-len(lived) // PER_PAGE)
    assert max(map(len, files.values())) < 300_000
    shown, linked = "", 0
    for place, content in [*files.items()][:-1]:
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(content)
        outline = Outline(page := content.decode())
        assert f"../{index.name}" in map(unquote, outline.links)
        ids, records = set(outline.ids), [link for link in outline.links if link.endswith(".jsonl")]
        assert all(link[1:] in ids for link in outline.links if link.startswith("#"))
        assert all((place.parent / unquote(link)).is_file() for link in records)
        assert page.count("<tr data-type=") <= PER_PAGE
        assert "You see a lamp." in page
        linked += len(records)
        shown += page
    assert all(f'data-name="demo/{each.number}-task"' in shown for each in lived)
    assert linked


def test_a_small_run_is_one_page(tmp_path: Path) -> None:
    made = RunReport(run(tmp_path / "a", FIRST))
    page = tmp_path / "page.html"
    assert [*figures_pages(made, page)] == [(page, figures_page(made, page))]


def test_without_room_for_calls_the_transcripts_stay(tmp_path: Path) -> None:
    page, _ = pages(tmp_path, calls=0)
    assert page.count("Prompts and replies are in the record alone.") == 2
    assert "You see a lamp." in page
    assert "Thought: perhaps" not in page
    assert "All 4 are here; 2 of them show prompts and replies." in page


def test_a_damaged_record_is_named_in_its_place(tmp_path: Path) -> None:
    made = run(tmp_path / "a", FIRST)
    made.folder.episode(made.manifest.tasks[1]).write_text("nonsense\n")
    page = figures_page(RunReport(made), tmp_path / "page.html").decode()
    Outline(page)
    assert "0002-demo-2-task.jsonl:1: not a recorded event" in page
    assert page.count("You are in the hall.") > 1


def test_an_empty_run_has_a_page(tmp_path: Path) -> None:
    page = figures_page(RunReport(run(tmp_path / "a", [Lived(1, None)])), tmp_path / "page.html").decode()
    assert "None of 1 task is played yet." in page
    Outline(page)


@pytest.mark.heavy
def test_long_texts_are_cut(tmp_path: Path) -> None:
    of_run, _ = pages(tmp_path, lambda text: text + "x" * 100_000)
    assert "characters more)" in of_run
    assert max(map(len, re.findall("x+", of_run))) <= 20_000


HOSTILE = (
    "</script><script>alert(1)</script>",
    "\"' onload=alert(1) x=",
    "<img src=x onerror=alert(1)>",
    "</style></title></pre></details><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "<!-- --!><![CDATA[ ]]>",
    "&lt;b&gt; &#x3c;script&#x3e;",
    "\x00\x1b[2J\x7f\u202e\u2028\ufeff\ud800",
)

TEXTS = st.one_of(st.text(max_size=60), st.sampled_from(HOSTILE), st.text(alphabet="<>&\"'/=-!\x00\x0c\x1b x", max_size=30))


@pytest.mark.heavy
@given(TEXTS)
@example("".join(HOSTILE))
@settings(max_examples=settings().max_examples // 4)
def test_no_text_changes_the_page_but_its_words(hostile: str) -> None:
    # What json cannot hold never comes out of a record either.
    hostile = hostile.encode("utf-8", "replace").decode("utf-8")
    harmless = "".join(character if character in " \n" else "x" for character in " ".join(hostile.split()))
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        evil = pages(Path(one), lambda text: f"{text}{' '.join(hostile.split())}")
        good = pages(Path(other), lambda text: f"{text}{harmless}")
    for page, model in zip(evil, good, strict=True):
        outline = Outline(page)
        assert outline.elements == Outline(model).elements
        assert outline.links == Outline(model).links
        assert page.count("<script") == page.count("</script") == 1
        assert all(character.isprintable() or character in "\n\u200c\u200d" for character in page)
        for _, name, value in outline.attributes:
            if name in {"href", "id", "class", "content", "role", "scope"}:
                assert hostile.strip() == "" or len(hostile) < 12 or hostile not in value


@pytest.mark.heavy
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown(tmp_path: Path, text: str) -> None:
    text = text.encode("utf-8", "replace").decode("utf-8")
    of_run, _ = pages(tmp_path, lambda said: f"{said} {text}")
    shown = "".join(Outline(of_run).text)
    assert text.replace("\x00", "").splitlines()[0][:8].strip("\x1b") in shown or "\\x00" in shown
