"""One adapter at a time, which most tests make."""

from __future__ import annotations

from typing import Any

from housequest.agent.training.export import Conversation
from housequest.agent.training.lora.run import AdapterFolder, Listener, PlannedTraining, Training, prepare_all, train_all


def prepare(training: Training, folder: AdapterFolder, listener: Listener) -> list[Conversation]:
    (conversations,) = prepare_all([PlannedTraining(training, folder)], listener)
    return conversations


def train_adapter(training: Training, folder: AdapterFolder, listener: Listener, **where: Any) -> dict[str, Any]:
    (made,) = train_all([PlannedTraining(training, folder)], listener, **where)
    return made
