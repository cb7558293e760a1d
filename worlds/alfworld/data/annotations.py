"""Goals written by ALFRED's annotators, which can replace the template sentence, with or without their instructions.

They are in ``traj_data.json`` beside a game, under ``turk_annotations.anns[*]``: ``task_desc`` is the goal and ``high_descs``
are the step-by-step instructions; annotators are numbered from 1 in the order of that list.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from housequest.worlds.alfworld.data.tasks import MAX_TRAJECTORY
from housequest.worlds.paths import read_file
from housequest.worlds.tasks import joined_sentences, plain_sentence

_MOST_STEPS = 60


def sentences_of(trajectory: Path, *, steps: bool = False) -> tuple[str, ...]:
    """The annotators' goals in ``traj_data.json`` in order, with or without ``steps``; "" for an annotator who wrote none.

    A missing or damaged file gives no goals: the game is playable without, and games that lack human goals are reported.
    """
    try:
        if not trajectory.is_file() or trajectory.stat().st_size > MAX_TRAJECTORY:
            return ()
        content: Any = json.loads(read_file(trajectory))
        annotations: Any = content["turk_annotations"]["anns"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ()
    if not isinstance(annotations, list):
        return ()
    return tuple(_sentence(one, steps=steps) for one in cast("list[Any]", annotations))


def _sentence(annotation: Any, *, steps: bool) -> str:
    written = cast("dict[str, Any]", annotation) if isinstance(annotation, dict) else {}
    goal, steps_given = written.get("task_desc"), written.get("high_descs")
    sentence = plain_sentence(goal) if isinstance(goal, str) else ""
    if not (steps and sentence and isinstance(steps_given, list)):
        return sentence
    described = [plain_sentence(step) for step in cast("list[Any]", steps_given)[:_MOST_STEPS] if isinstance(step, str)]
    return joined_sentences((sentence, *described))
