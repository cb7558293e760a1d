"""Perceptions by their names: ``truth``, ``noisy:miss=0.2,confuse=0.1``, ``onnx:objects=FILE``, ``maskrcnn:objects=FILE``."""

from __future__ import annotations

from housequest.agent.alfred.seeing.detector import DetectorPerception, Reader
from housequest.agent.alfred.seeing.networks import read_maskrcnn, read_onnx
from housequest.agent.alfred.seeing.perception import Noise, Noisy, Perception, Truth
from housequest.worlds.errors import ConfigurationError, Unsupported, shown
from housequest.worlds.options import read_options

_DETECTORS: dict[str, Reader] = {"onnx": read_onnx, "maskrcnn": read_maskrcnn}


def make_perception(text: str, *, pictures: str = "boxes") -> Perception:
    """The perception that ``text`` names; ``pictures`` is what draws the frames, such as ``boxes``.

    Raises ``ConfigurationError``, and ``Unsupported`` for a detector of photographs where pictures are of boxes.
    """
    kind, _, rest = text.strip().partition(":")
    if kind == "truth" and not rest:
        return Truth()
    if kind == "noisy":
        return Noisy(read_options(Noise, _pairs(rest, text), owner=f"The perception {kind!r}"))
    if kind in _DETECTORS:
        if pictures.partition(" ")[0] == "boxes":
            raise Unsupported(
                f"A detector trained on photographs sees nothing in pictures of boxes, so {kind!r} is refused with the engine "
                "'boxes'; take seeing=truth or seeing=noisy:miss=0.2,confuse=0.1,depth=0.05, or play with --engine thor."
            )
        return DetectorPerception.load(kind, _pairs(rest, text), _DETECTORS[kind])
    raise ConfigurationError(
        f"There is no perception {shown(text)}; known: truth, noisy:miss=0.2,confuse=0.1,depth=0.05,seed=0, "
        "onnx:objects=FILE,receptacles=FILE and maskrcnn:objects=FILE,receptacles=FILE."
    )


def _pairs(text: str, whole: str) -> dict[str, str]:
    parts = (part.partition("=") for part in text.split(",") if part)
    pairs = {name: value for name, _, value in parts}
    if text and not all(name and value for name, value in pairs.items()):
        raise ConfigurationError(f"{shown(whole)} is not a perception; write name=value after the colon, with commas between.")
    return {name.strip(): value.strip() for name, value in pairs.items()}
