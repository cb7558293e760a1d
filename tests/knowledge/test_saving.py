"""A rulebook on disk: two editors, a kill, a full disk, a read-only file. Nothing is lost, and each is told."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from housequest.knowledge.rulebook import LARGEST_FILE, Rulebook, read_book, save, saving
from housequest.knowledge.rules import Rule
from housequest.worlds.errors import KnowledgeError
from housequest.worlds.paths import data_folder
from tests.waiting import PATIENCE, ending

ROOT = Path(__file__).parents[2]
HEAD = "format: 0.2\nrules:\n"


def book(folder: Path, text: str = f"# ours\n{HEAD}- a\n- b\n") -> Path:
    path = folder / "book.yaml"
    path.write_text(text, "utf-8")
    return path


def program(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A process of its own that has the names of this test."""
    lines = "import sys\nfrom pathlib import Path\n"
    lines += "from housequest.knowledge.rulebook import *\nfrom housequest.knowledge.rules import Rule\n"
    return subprocess.Popen(
        [sys.executable, "-c", lines + code, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_saved_is_what_is_read(tmp_path: Path) -> None:
    path = book(tmp_path)
    saved = save(read_book(path).put([Rule("c", "see c")]))
    assert read_book(path) == saved
    assert save(saved.put([Rule("d", "see d")])).rules == read_book(path).rules
    assert files(tmp_path) == ["book.yaml"]


def test_a_new_book_makes_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "book.yaml"
    save(Rulebook(path).put([Rule("c", "see c")]))
    assert read_book(path).rules == (Rule("c", "see c"),)


def test_a_file_changed_since_is_left_alone(tmp_path: Path) -> None:
    path = book(tmp_path)
    mine = read_book(path).put([Rule("c", "see c")])
    path.write_text("# theirs\n", "utf-8")
    with pytest.raises(KnowledgeError, match=r"was changed since it was read.*Read it again"):
        save(mine)
    assert path.read_text("utf-8") == "# theirs\n"
    path.unlink()
    with pytest.raises(KnowledgeError, match="is gone since"):
        save(mine)
    assert files(tmp_path) == []


def test_a_file_made_since_is_left_alone(tmp_path: Path) -> None:
    mine = Rulebook(tmp_path / "book.yaml").put([Rule("c", "see c")])
    book(tmp_path)
    with pytest.raises(KnowledgeError, match="was made since"):
        save(mine)
    assert len(read_book(tmp_path / "book.yaml").rules) == 2


def test_an_undone_change_is_what_was_before(tmp_path: Path) -> None:
    path = book(tmp_path)
    before = read_book(path)
    after = save(before.put([before.rule("rule-1").judged("rejected")]))
    save(after.restored(before))
    assert path.read_text("utf-8") == before.text


@pytest.mark.heavy
def test_many_editors_at_once_lose_nothing(tmp_path: Path) -> None:
    path = book(tmp_path)
    code = """
who = sys.argv[2]
for number in range(8):
    while True:
        try:
            save(read_book(Path(sys.argv[1])).put([Rule(f"{who}-{number}", "see it")]))
            break
        except KnowledgeError as error:
            assert "was changed since" in str(error), error
"""
    editors = [program(code, str(path), who) for who in "wxyz"]
    assert [(editor.wait(60), editor.stderr and editor.stderr.read()) for editor in editors] == [(0, "")] * 4
    names = {rule.id for rule in read_book(path).rules}
    assert names == {"rule-1", "rule-2"} | {f"{who}-{number}" for who in "wxyz" for number in range(8)}
    assert path.read_text("utf-8").startswith("# ours\nformat: 0.2\nrules:\n- a\n- b\n")


@pytest.mark.heavy
def test_a_kill_in_the_middle_leaves_a_whole_book(tmp_path: Path) -> None:
    path = book(tmp_path, HEAD + "".join(f"- {'x' * 400} {number}\n" for number in range(400)))
    code = """
first = read_book(Path(sys.argv[1]))
second = first.put([Rule("more", "see more")])
now = first
print("ready", flush=True)
for turn in range(10**6):
    now = save(now.restored(first if turn % 2 else second))
"""
    texts: set[int] = set()
    for delay in (0.0, 0.003, 0.011, 0.02, 0.033):
        with ending(program(code, str(path))) as saver:
            assert saver.stdout is not None
            assert saver.stdout.readline() == "ready\n"
            time.sleep(delay)
            saver.kill()
        texts.add(len(read_book(path).rules))
        if len(read_book(path).rules) == 401:
            path.write_text(HEAD + "".join(f"- {'x' * 400} {number}\n" for number in range(400)), "utf-8")
    assert texts <= {400, 401}


@pytest.mark.heavy
def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = book(tmp_path)
    code = """
import resource
mine = read_book(Path(sys.argv[1])).put(Rule(f"r{number}", "see it") for number in range(200))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    save(mine)
except KnowledgeError as error:
    print(error)
"""
    saver = program(code, str(path))
    said, fault = saver.communicate(timeout=60)
    assert fault == ""
    assert "cannot be saved: " in said
    assert "The file is as it was." in said
    assert path.read_text("utf-8") == "# ours\nformat: 0.2\nrules:\n- a\n- b\n"
    assert files(tmp_path) == ["book.yaml"]


def test_a_read_only_file_is_left_alone(tmp_path: Path) -> None:
    path = book(tmp_path)
    path.chmod(0o444)
    with pytest.raises(KnowledgeError, match=r"is read-only.*save a copy"):
        save(read_book(path).put([Rule("c", "see c")]))
    assert len(read_book(path).rules) == 2


def test_a_saved_file_keeps_its_permissions_and_its_link(tmp_path: Path) -> None:
    path = book(tmp_path)
    path.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    save(read_book(link).put([Rule("c", "see c")]))
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert len(read_book(path).rules) == 3


@pytest.mark.heavy
def test_a_book_that_nobody_could_read_again_is_not_written(tmp_path: Path) -> None:
    path = book(tmp_path, f"{HEAD}- a\n" + "#" * (LARGEST_FILE - 100) + "\n")
    with pytest.raises(KnowledgeError, match=r"too large.*Split it"):
        save(read_book(path).put([Rule("c", "see c " * 40)]))
    assert len(read_book(path).rules) == 1


def test_a_folder_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "book").write_text("x")
    with pytest.raises(KnowledgeError, match="cannot be saved"):
        save(Rulebook(tmp_path / "book" / "book.yaml").put([Rule("c", "see c")]))


def test_one_waits_for_another_that_is_saving(tmp_path: Path) -> None:
    path = book(tmp_path)
    begun, let_go = threading.Event(), threading.Event()

    def other() -> None:
        with saving(path):
            begun.set()
            let_go.wait(PATIENCE)

    thread = threading.Thread(target=other)
    thread.start()
    assert begun.wait(PATIENCE)
    timer = threading.Timer(0.2, let_go.set)
    timer.start()
    save(read_book(path).put([Rule("c", "see c")]))
    assert let_go.is_set()
    thread.join()
    assert len(read_book(path).rules) == 3
    assert files(tmp_path) == ["book.yaml"]


@pytest.mark.heavy
def test_one_that_waited_too_long_says_so(tmp_path: Path) -> None:
    path = book(tmp_path)
    code = """
with saving(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
    with ending(program(code, str(path))) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(KnowledgeError, match=r"Another command is saving .*try again"):
            save(read_book(path).put([Rule("c", "see c")]))
        holder.kill()
        holder.wait(PATIENCE)
        save(read_book(path).put([Rule("c", "see c")]))
    assert len(read_book(path).rules) == 3


def test_a_book_is_saved_where_no_lock_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").write_text("a file where the user's folders should be")
    monkeypatch.setenv("HOUSEQUEST_HOME", str(tmp_path / "home"))
    path = book(tmp_path)
    save(read_book(path).put([Rule("c", "see c")]))
    assert len(read_book(path).rules) == 3


def test_a_book_is_changed_through_a_link_from_the_users_own_library_alone(tmp_path: Path) -> None:
    path = book(tmp_path)
    before = path.read_bytes()
    cloned, own = tmp_path / "cloned", data_folder() / "rulebooks"
    for folder in (cloned, own):
        folder.mkdir(parents=True)
        (folder / "link.yaml").symlink_to(path)
    with pytest.raises(KnowledgeError, match=r"is a link to .*, outside its folder, so nothing was written"):
        save(read_book(cloned / "link.yaml").put([Rule("c", "see c")]))
    assert path.read_bytes() == before
    save(read_book(own / "link.yaml").put([Rule("c", "see c")]))
    assert len(read_book(path).rules) == 3
    assert (own / "link.yaml").is_symlink()
