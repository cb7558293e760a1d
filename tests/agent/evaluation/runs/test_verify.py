"""A run that was damaged: that is noticed, no wrong figure is told of it, and playing on makes it whole again."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from housequest.agent.config import configure
from housequest.agent.episodes.record import Damaged, read_episode, with_digest, without_digest
from housequest.agent.evaluation.analysis.metrics import Summary
from housequest.agent.evaluation.analysis.run import read_for_comparison
from housequest.agent.evaluation.render.report import RunReport
from housequest.agent.evaluation.runs.batch import RunOptions, run_batch
from housequest.agent.evaluation.runs.folder import RunFolder
from housequest.agent.evaluation.runs.shard import verify_run, verify_sweep
from housequest.agent.evaluation.runs.spec import make_run_spec
from housequest.agent.evaluation.runs.sweep import SweepFolder
from housequest.worlds.errors import ConfigurationError

Damage = Callable[[Path, random.Random], None]


def play(folder: Path, **options: object) -> Summary:
    spec = make_run_spec(configure({"world": "scripted", "agent": "expert"}, folder.parent))
    return asyncio.run(run_batch(spec, folder, RunOptions(**options)))  # pyright: ignore[reportArgumentType]


def figures(folder: Path) -> dict[str, object]:
    """What a report tells, without how long it took."""
    return json.loads(json.dumps(RunReport(read_for_comparison(RunFolder(folder))).data()), object_hook=_timeless)


def _timeless(table: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in table.items() if key != "seconds"}


def contents(folder: Path) -> dict[str, bytes]:
    """What must be equal between equal runs."""
    files = [folder / "run.json", folder / "index.jsonl", *(folder / "episodes").glob("*.jsonl")]
    return {file.name: file.read_bytes() for file in files if file.exists()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    play(folder)
    figures(folder)
    return folder


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return shutil.copytree(whole, tmp_path / "run")


def episode(run: Path, chance: random.Random) -> Path:
    return chance.choice(sorted((run / "episodes").glob("*.jsonl")))


def flipped(file: Path, chance: random.Random) -> None:
    content = bytearray(file.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file.write_bytes(content)


def cut(file: Path, chance: random.Random) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: chance.randrange(len(content))])


def filled(file: Path, chance: random.Random) -> None:
    content = file.read_bytes()
    at, junk = chance.randrange(len(content)), chance.randbytes(chance.randrange(1, 200))
    file.write_bytes(content[:at] + junk + content[at + len(junk) :])


def swapped(run: Path, chance: random.Random) -> None:
    one, other = chance.sample(sorted((run / "episodes").glob("*.jsonl")), 2)
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


def lines(change: Callable[[list[bytes], random.Random], list[bytes]]) -> Damage:
    def damage(run: Path, chance: random.Random) -> None:
        index = run / "index.jsonl"
        index.write_bytes(b"".join(change(index.read_bytes().splitlines(keepends=True), chance)))

    return damage


EPISODES: Mapping[str, Damage] = {
    "emptied": lambda run, chance: os.truncate(episode(run, chance), 0),
    "cut": lambda run, chance: cut(episode(run, chance), chance),
    "garbage": lambda run, chance: filled(episode(run, chance), chance),
    "a bit": lambda run, chance: flipped(episode(run, chance), chance),
    "swapped": swapped,
    "gone": lambda run, chance: episode(run, chance).unlink(),
}
INDEX: Mapping[str, Damage] = {
    "a bit of a line": lambda run, chance: flipped(run / "index.jsonl", chance),
    "garbage in lines": lambda run, chance: filled(run / "index.jsonl", chance),
    "lines cut": lambda run, chance: cut(run / "index.jsonl", chance),
    "a line dropped": lines(lambda all, chance: [line for line in all if line != chance.choice(all)][: len(all) - 1]),
    "a line doubled": lines(lambda all, chance: [*all, chance.choice(all)]),
    "lines in another order": lines(lambda all, chance: [*all[1:], all[0]]),
    "no lines": lines(lambda all, chance: []),
    "no index": lambda run, chance: (run / "index.jsonl").unlink(),
}
MANIFEST: Mapping[str, Damage] = {"a bit of the manifest": lambda run, chance: flipped(run / "run.json", chance)}


def check(run: Path, whole: Path, resumed: Callable[[Path], object] = play) -> None:
    """The damage is noticed, what is told in spite of it is right, and the run can be made whole."""
    found = verify_run(RunFolder(run))
    assert not found.whole, "it is noticed"
    right = figures(whole)
    try:
        told = figures(run)
    except ConfigurationError as error:
        assert str(run) in str(error)
    else:
        assert told == right or (told["unfinished"] and told["won"] == told["episodes"] - told["unfinished"])  # pyright: ignore[reportOperatorIssue]
    resumed(run)
    assert contents(run) == contents(whole)
    assert verify_run(RunFolder(run)).whole
    assert figures(run) == right


@pytest.mark.heavy
@pytest.mark.parametrize("name", [*EPISODES, *INDEX, *MANIFEST])
def test_damage_is_noticed_never_counted_and_mended(name: str, run: Path, whole: Path) -> None:
    {**EPISODES, **INDEX, **MANIFEST}[name](run, random.Random(0))
    if contents(run) == contents(whole):
        return  # a line that was doubled or dropped can be put where it was
    check(run, whole)


@pytest.mark.heavy
@given(
    seed=st.integers(0, 1 << 32),
    names=st.lists(st.sampled_from(sorted(EPISODES)), min_size=1, max_size=3)
    | st.lists(st.sampled_from(sorted(INDEX)), min_size=1, max_size=1)
    | st.just([*MANIFEST]),
)
def test_no_damage_is_told_as_a_figure(seed: int, names: list[str], whole: Path) -> None:
    chance = random.Random(seed)
    run = whole.parent / "damaged"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(whole, run)
    for name in names:
        if name in EPISODES and len(list((run / "episodes").iterdir())) < 2:
            break
        try:
            {**EPISODES, **INDEX, **MANIFEST}[name](run, chance)
        except ValueError:  # nothing is left of the file to be damaged
            continue
    if contents(run) != contents(whole):
        check(run, whole)


def test_a_whole_run_is_whole_also_before_its_end(run: Path) -> None:
    found = verify_run(RunFolder(run))
    assert (found.whole, found.tasks, found.finished) == (True, 3, 3)
    folder = RunFolder(run)
    last = folder.manifest().tasks[2]
    folder.rewrite(folder.results(folder.manifest().tasks)[:2])
    content = folder.episode(last).read_bytes()
    folder.episode(last).unlink()
    folder.part(last).write_bytes(content[:-40])
    found = verify_run(folder)
    assert (found.whole, found.finished) == (True, 2)
    folder.part(last).write_bytes(b"junk\n" + content)
    assert [fault.miscounts for fault in verify_run(folder).faults] == [False]


def test_a_damaged_episode_is_kept_beside_and_said(run: Path, whole: Path) -> None:
    file = sorted((run / "episodes").iterdir())[1]
    file.write_bytes(damaged := file.read_bytes().replace(b'"steps":', b'"steps":1', 1))
    with pytest.raises(ConfigurationError, match=rf"(?s){file.name}: it is not what was written.*`housequest verify {run}`"):
        read_for_comparison(RunFolder(run))
    said: list[str] = []
    assert play(run, say=said.append).overall.won == 3
    assert len(said) == 1 and str(file) in said[0] and "*.unfit-N" in said[0]
    assert file.with_name(f"{file.name}.unfit-1").read_bytes() == damaged
    assert contents(run) == contents(whole)


def test_a_finished_record_without_its_end_is_gone_on_with(run: Path, whole: Path) -> None:
    """As a version that did not sync could leave it, when the machine failed before its line was written."""
    folder = RunFolder(run)
    first, *_ = folder.manifest().tasks
    folder.rewrite(result for result in folder.results(folder.manifest().tasks) if result.task != first.id)
    content = folder.episode(first).read_bytes()
    folder.episode(first).write_bytes(content[: content.rindex(b"\n", 0, -1) + 1])
    assert play(run).overall.won == 3
    assert contents(run) == contents(whole)
    assert not [file for file in folder.episodes.iterdir() if "unfit" in file.name]


def test_a_manifest_of_which_too_little_is_left_is_refused(run: Path) -> None:
    for content in (b"", (run / "run.json").read_bytes()[:400]):
        (run / "run.json").write_bytes(content)
        assert not verify_run(RunFolder(run)).whole
        with pytest.raises(ConfigurationError, match=r"run\.json is damaged.*a copy of the run, or play into a new folder"):
            play(run)
    (run / "run.json").unlink()
    assert [fault.what.partition(".")[0] for fault in verify_run(RunFolder(run)).faults] == ["it is gone"]
    with pytest.raises(ConfigurationError, match=r"not the folder of a run"):
        verify_run(RunFolder(run.parent))


@pytest.mark.heavy
def test_an_index_larger_than_any_run_has_is_set_aside(run: Path, whole: Path) -> None:
    os.truncate(run / "index.jsonl", 1 << 30)
    with pytest.raises(ConfigurationError, match=r"index\.jsonl: cannot be read: it has more than .*"):
        figures(run)
    check(run, whole)
    assert (run / "index.jsonl.unfit-1").exists()


@pytest.mark.parametrize("change", [(b"}\n", b"}"), (b"\n", b"\r\n"), (b'"sha256": "', b'"sha256":"')])
def test_a_manifest_that_an_editor_saved_is_said_to_be(run: Path, change: tuple[bytes, bytes]) -> None:
    manifest = run / "run.json"
    manifest.write_bytes(manifest.read_bytes().replace(*change))
    (fault,) = verify_run(RunFolder(run)).faults
    assert fault.what.startswith("its sha256 does not stand where it was written; was it saved by an editor?")


def test_a_damaged_manifest_does_not_let_another_run_in(run: Path) -> None:
    flipped(run / "run.json", random.Random(1))
    other = make_run_spec(configure({"world": "scripted", "agent": "expert", "max_steps": 7}, run.parent))
    with pytest.raises(ConfigurationError, match=r"run\.json is damaged"):
        asyncio.run(run_batch(other, run))


def test_a_run_of_version_0_1_is_refused_also_where_it_has_no_digests(run: Path) -> None:
    manifest = run / "run.json"
    manifest.write_bytes(without_digest(manifest.read_bytes()).replace(b'"format": "0.2"', b'"schema_version": 1'))
    (fault,) = verify_run(RunFolder(run)).faults
    told = "was written in format 1 (before 0.2), which this version cannot read; play it again"
    assert (fault.where, fault.what.rstrip(".")) == (str(manifest), told)
    with pytest.raises(ConfigurationError, match=r"run\.json was written in format 1"):
        play(run)


@pytest.mark.parametrize(
    ("written", "told"),
    [('"schema_version":1,', r"format 1 \(before 0.2\)"), ("", "a format before 0.2")],
    ids=["0.1", "no format"],
)
def test_a_record_of_another_format_or_none_is_refused(written: str, told: str, run: Path) -> None:
    file = sorted((run / "episodes").iterdir())[0]
    file.write_text(file.read_text().replace('"format":"0.2",', written))
    sentence = rf"^{file}:1 was written in {told}, which this version cannot read; play it again\.$"
    with pytest.raises(ConfigurationError, match=sentence):
        list(read_episode(file))


@pytest.mark.parametrize("name", ["run.json", "index.jsonl"])
def test_what_has_lost_its_digest_is_damaged(name: str, run: Path) -> None:
    file = run / name
    content = file.read_bytes()
    file.write_bytes(without_digest(content) if name == "run.json" else without_digest(content.splitlines()[0]) + b"\n")
    fault, *_ = verify_run(RunFolder(run)).faults
    assert fault.what.startswith("its sha256 is missing")


def test_a_sweep_is_looked_at_run_by_run(run: Path, whole: Path) -> None:
    sweep = SweepFolder(run.parent)
    manifest = {"format": "0.2", "runs": [{"arm": name, "seed": 0, "folder": name} for name in ("run", "later")]}
    sweep.file.write_text(with_digest(f"{json.dumps(manifest, indent=2)}\n"))
    assert [found.whole for found in verify_sweep(sweep)] == [True]
    flipped(run / "index.jsonl", random.Random(0))
    assert [found.whole for found in verify_sweep(sweep)] == [False]
    flipped(sweep.file, random.Random(0))
    with pytest.raises(ConfigurationError, match=r"sweep\.json is damaged"):
        verify_sweep(sweep)


@given(values=st.dictionaries(st.text(max_size=9), st.text(max_size=40) | st.integers(), min_size=1), bit=st.integers(0))
def test_a_digest_tells_of_any_bit(values: dict[str, object], bit: int) -> None:
    for text in (json.dumps(values), f"{json.dumps(values, indent=2)}\n"):
        content = with_digest(text).encode()
        assert without_digest(content) == text.encode()
        with pytest.raises(Damaged):
            without_digest(text.encode())
        bit %= 8 * len(content)
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Damaged):
            without_digest(bytes(damaged))


def test_what_is_no_folder_of_episodes_is_set_aside(run: Path, whole: Path) -> None:
    shutil.rmtree(run / "episodes")
    os.mkfifo(run / "episodes")
    check(run, whole)
    assert (run / "episodes.unfit-1").exists()


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["index.jsonl", "paths.jsonl"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "junk"])
def test_what_can_be_made_again_is_whatever_lies_in_its_place(kind: str, name: str, run: Path, whole: Path) -> None:
    file = run / name
    file.unlink()
    match kind:
        case "pipe":
            os.mkfifo(file)
        case "folder":
            file.mkdir()
        case "device":
            file.symlink_to("/dev/zero")
        case _:
            file.write_bytes(b"junk\n" * 9)
    if name == "paths.jsonl":
        assert figures(run) == figures(whole)
    else:
        check(run, whole)
