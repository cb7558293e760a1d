"""A person who steers an agent in plain text can take, decline, change, or talk about each proposal."""

from __future__ import annotations

import re

import pytest

from tests.tui.conftest import Run

STEP = ("play", "generated:7", "--plain", "--mode", "step", "--agent", "expert", "--no-record")


def proposals(shown: str) -> list[str]:
    return re.findall(r"(?m)^ ?\d+ \? (.+)$", shown)


def test_a_person_steers_the_expert_in_words(call: Run) -> None:
    said = ("look in the drawers", "no", "what did I tell you?", "never mind", "go to shelf 1", ":quit")
    done = call(*STEP, input="\n".join(said))
    assert done.returncode == 0
    first, *others = proposals(done.stdout)
    assert first not in {"go to drawer 1", "go to drawer 2"}
    assert others[:4] == ["go to drawer 1", "go to drawer 2", "go to drawer 2", first]
    assert "You told me to look in drawer 1, drawer 2, drawer 3." in done.stdout.replace("\n       ", " ")
    assert " 1 > go to shelf 1" in done.stdout
    assert "A person helped" in done.stdout


def test_enter_takes_every_proposal_to_the_end_of_the_game(call: Run) -> None:
    done = call(*STEP, input="\n" * 50)
    assert "Won in" in done.stdout
    assert "A person helped" not in done.stdout


def test_what_is_about_the_game_is_answered_and_decides_nothing(call: Run) -> None:
    done = call(*STEP, input="?\n:goal\n??\nwait\n\n:quit\n")
    assert "ask for another one" in done.stdout
    assert done.stdout.count("look at book under the desklamp") >= 3
    assert "It waits for you." in done.stdout
    assert len(proposals(done.stdout)) == 2


def test_who_takes_no_hints_says_so(call: Run) -> None:
    done = call(
        "play", "demo:1", "--world", "scripted", "--plain", "--mode", "step", "--agent", "expert", input="try the box\n:quit\n"
    )
    assert "expert takes no hints" in done.stdout
    assert len(proposals(done.stdout)) == 1


@pytest.mark.parametrize("mode", ["you", "race"])
def test_other_ways_of_playing_need_the_screen(call: Run, mode: str) -> None:
    done = call("play", "generated:7", "--plain", "--mode", mode, "--agent", "expert")
    assert done.returncode == 2
    assert f"--mode {mode} needs the screen" in done.stderr


def test_who_plays_alone_waits_without_losing_a_turn(call: Run) -> None:
    done = call("play", "generated:7", "--plain", "--agent", "human", "--no-record", input="wait\ngo to shelf 1\n:quit\n")
    assert "Nothing is sent until you say so." in done.stdout
    assert "Stopped after 1 turn" in done.stdout


ALFRED = ("play", "example:1", "--world", "alfred", "--plain", "--no-record")


@pytest.mark.heavy
def test_a_world_of_movements_is_played_in_words_and_only_commands_cost_turns(call: Run) -> None:
    said = ("look around", "turn left", "take the egg", "stop", "where am i?", ":quit")
    done = call(*ALFRED, "--agent", "human", input="\n".join(said))
    assert "There are: LookDown, LookUp, MoveAhead, RotateLeft, RotateRight." in done.stdout.replace("\n       ", " ")
    assert " 1 > RotateLeft" in done.stdout
    assert "Stopped after 1 turn:" in done.stdout


@pytest.mark.heavy
def test_its_expert_is_steered_in_words(call: Run) -> None:
    done = call(*ALFRED, "--agent", "expert", "--mode", "step", input="no\nstop\nwhat is your plan?\nlook up\n:quit\n")
    first, again, *_ = proposals(done.stdout)
    assert again.startswith(f"{first} (the same again")
    assert "It waits for you." in done.stdout
    assert "I am at step 1: pick up the egg." in done.stdout
    assert " 1 > LookUp" in done.stdout
