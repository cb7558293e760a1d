# pyright: basic, reportMissingImports=false
"""A checkpoint as the file that ships."""

from __future__ import annotations

from pathlib import Path

import torch

from agent.models.builtin_file import write_builtin
from agent.training.corpus import composition, load_vocabulary
from agent.training.network import Composition, Network
from agent.training.optimise import CHECKPOINT, load_shape


def export(corpus: Path, folder: Path, file: Path) -> None:
    """Write the network of the checkpoint in ``folder`` to ``file``."""
    vocabulary = load_vocabulary(corpus)
    base, number = composition(vocabulary)
    network = Network(load_shape(folder), Composition(tuple(base), tuple(number)))
    network.load_state_dict(torch.load(folder / CHECKPOINT, weights_only=True)["network"])
    weights = {name: value.numpy() for name, value in network.weights().items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    write_builtin(file, network.shape, vocabulary, weights)
