"""The file of the built-in model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from housequest.agent.models.builtin.network import Network, Shape
from housequest.agent.models.builtin.vocabulary import Vocabulary
from housequest.agent.networks.file import WeightsFormat
from housequest.agent.networks.layers import layer_sizes

SHIPPED = Path(__file__).with_name("weights") / "builtin.weights"


@dataclass(frozen=True, slots=True)
class BuiltinFile:
    """A network with its vocabulary."""

    network: Network
    vocabulary: Vocabulary


def _fits(shape: Shape) -> bool:
    return shape.width % (2 * shape.heads) == 0 and type(shape.base) in {int, float} and 1 < shape.base < 1e9


def _sizes(shape: Shape, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
    each = layer_sizes(shape.width, shape.hidden)
    layers = {f"{at}.{name}": size for at in range(shape.layers) for name, size in each.items()}
    return {"embedding": (len(vocabulary), shape.width), "norm": (shape.width,), **layers}


FORMAT = WeightsFormat(
    title="housequest model 1",
    listed="vocabulary",
    shape=Shape,
    most={"width": 4096, "layers": 64, "heads": 64, "hidden": 16384, "context": 8192},
    fits=_fits,
    vocabulary=Vocabulary,
    words=lambda vocabulary: vocabulary.tokens,
    sizes=_sizes,
    refusal="is no built-in model",
    way_out="Export one with `python -m housequest.agent.training export`.",
)


def read_builtin(file: Path) -> BuiltinFile:
    """Read a model. Raises ``ConfigurationError`` for a file that is none."""
    shape, vocabulary, weights = FORMAT.read(file)
    return BuiltinFile(Network(shape, weights), vocabulary)
