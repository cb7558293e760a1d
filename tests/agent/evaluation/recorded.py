"""Runs on disk as an evaluation leaves them, with any outcome and any text in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from housequest.agent.episodes.events import (
    Body,
    Ended,
    Event,
    Intervened,
    ModelCall,
    Outcome,
    ParseFailed,
    Planned,
    Progressed,
    PromptMessage,
    Started,
    Stepped,
    Thought,
    TurnSpent,
)
from housequest.agent.episodes.record import EpisodeRecorder, with_digest, without_digest
from housequest.agent.evaluation.analysis.arms import Arm
from housequest.agent.evaluation.analysis.run import Run, read_for_comparison
from housequest.agent.evaluation.render.comparison import Comparison
from housequest.agent.evaluation.runs.files import SelectedTask
from housequest.agent.evaluation.runs.folder import RunFolder, result_of
from housequest.agent.evaluation.runs.spec import Manifest, RunConfig
from housequest.worlds.paths import FORMAT

Said = Callable[[str], str]


@dataclass(frozen=True)
class Lived:
    """An episode to record; an outcome of None leaves it unfinished."""

    number: int
    outcome: Outcome | None = "won"
    steps: int = 3
    assisted: bool = False
    type: str = "heat"
    calls: bool = False


def as_it_is(text: str) -> str:
    return text


def run(
    folder: Path,
    lived: Sequence[Lived],
    *,
    said: Said = as_it_is,
    data: str = "d" * 64,
    plain: Literal[True] | None = None,
    simulator: str = "scripted 1",
    **configuration: object,
) -> Run:
    """Write a run to ``folder`` and read it back; ``said`` says every text that a game or a model would.

    ``plain``: its models are asked as plain text.
    """
    manifest = Manifest(
        housequest="1",
        configuration=RunConfig.model_validate(
            {
                "world": "scripted",
                "engine": "native",
                "split": "demo",
                "types": (),
                "limit": None,
                "sample": None,
                "goals": "template",
                "seed": 0,
                "agent": said("expert"),
                "settings": {"order": said("likely")},
                "model": said("scripted:file"),
                "script_sha256": None,
                "rules": None,
                "grants": (),
                "max_turns": 50,
                **configuration,
            }
        ),
        engine=said(simulator),
        data=data,
        prompts={},
        of=len(lived),
        tasks=tuple(
            SelectedTask(number=each.number, id=f"demo/{each.number}{said('-task')}", type=said(each.type)) for each in lived
        ),
        versions={"python": "3.11", "openai": None},
    )
    run = RunFolder(folder)
    run.begin(manifest)
    for each, task in zip(lived, manifest.tasks, strict=True):
        if each.outcome is not None:
            events: list[Event] = []
            with EpisodeRecorder(run.episode(task)) as recorder:
                for number, body in enumerate(bodies(each, each.outcome, said, plain)):
                    event = Event(id=number, parent=number - 1 if number else None, body=body)
                    recorder(event)
                    events.append(event)
            result = result_of(task, events)
            assert result is not None
            run.append(result)
    return read_for_comparison(run)


def paired(first: Run, second: Run) -> Comparison:
    """Two single runs, compared."""
    return Comparison(Arm(first.name, (first,)), Arm(second.name, (second,)))


def bodies(lived: Lived, outcome: Outcome, said: Said = as_it_is, plain: Literal[True] | None = None) -> list[Body]:
    """What happened in ``lived``."""
    started = Started(
        format=FORMAT,
        world="scripted",
        engine="scripted 1",
        task=f"demo/{lived.number}",
        split="demo",
        number=lived.number,
        type=lived.type,
        goal=said("bring the coin"),
        wording="template",
        agent="expert",
        max_turns=50,
        seed=0,
        opening=said("You are in the hall."),
    )
    told: list[Body] = [started, Planned(role=said("reasoner"), steps=(said("find it"),), revision=0, reason="the beginning")]
    for turn in range(1, lived.steps + 1):
        if lived.calls:
            told.append(_called(turn, said).model_copy(update={"plain": plain}))
        told.append(Thought(role=said("actor"), text=said("perhaps there")))
        told.append(Progressed(role=said("actor"), step=0))
        explanation = said("it is not here") if turn % 2 else None
        command, observation = said("look around"), said("You see a lamp.")
        told.append(
            Stepped(turn=turn, command=command, observation=observation, accepted=turn % 2 == 0, explanation=explanation)
        )
    if lived.assisted:
        told.append(Intervened(action="hint", text=said("try the box")))
    told.append(ParseFailed(role=said("actor"), reply=said("?"), reason=said("no action in it"), final=True))
    told.append(TurnSpent(turn=lived.steps + 1))
    broken = outcome == "error"
    told.append(
        Ended(
            outcome=outcome,
            reason=said("because of that"),
            turns=lived.steps + 1,
            steps=lived.steps,
            refused=(lived.steps + 1) // 2,
            assisted=lived.assisted,
            boundary="model" if broken else None,
            message=said("it answered 500") if broken else None,
        )
    )
    return told


def _called(turn: int, said: Said) -> ModelCall:
    first = (PromptMessage(role="system", content=said("You act.")), PromptMessage(role="user", content=said("The task.")))
    later = (PromptMessage(role="user", content=said("You see a lamp.")),)
    return ModelCall(
        role=said("actor"),
        kept=0 if turn == 1 else 2 * turn - 1,
        added=first if turn == 1 else later,
        reply=said("Thought: perhaps\nAction: look around"),
        finish=said("stop"),
        prompt_tokens=10 * turn,
        completion_tokens=5,
    )


def in_format(file: Path, fields: str) -> None:
    """Rewrite a run's file as of another format, whose first ``fields`` stand in place of ours."""
    text = without_digest(file.read_bytes()).decode()
    file.write_text(with_digest(text.replace('"format": "0.2"', fields, 1)))
