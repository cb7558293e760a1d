# pyright: basic, reportMissingImports=false
"""A checkpoint as the file that ships."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from agent.models.builtin.file import write_builtin
from agent.training.corpus import composition, load_vocabulary
from agent.training.network import Composition, Network
from agent.training.optimise import CHECKPOINT, load_shape


def export(corpus: Path, folder: Path, file: Path, besides: Sequence[Path] = ()) -> None:
    """Write the network of the checkpoint in ``folder`` to ``file``; with runs ``besides``, the mean of all their weights.

    Runs that went on from one checkpoint may be averaged: the mean does what each does (Wortsman et al., ICML 2022).
    """
    vocabulary = load_vocabulary(corpus)
    base, number = composition(vocabulary)
    network = Network(load_shape(folder), Composition(tuple(base), tuple(number)))
    kept = [torch.load(run / CHECKPOINT, weights_only=True)["network"] for run in (folder, *besides)]
    network.load_state_dict({name: sum(one[name] for one in kept) / len(kept) for name in kept[0]})
    weights = {name: value.numpy() for name, value in network.weights().items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    write_builtin(file, network.shape, vocabulary, weights)
