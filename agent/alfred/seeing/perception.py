"""Perception: the depth of a frame and the objects in it (OPEx, section 3).

``truth`` is the simulator's own depth and masks (the paper's OPEx-P), and ``noisy:miss=0.2,confuse=0.1`` adds errors to them.
``onnx:objects=FILE`` and ``maskrcnn:objects=FILE`` are the user's own detectors, with the classes of ALFWorld's detectors and a
file for each list of classes: Mask R-CNNs of torchvision (extra ``maskrcnn``), or these exported to ONNX (extra ``detect``).
Libraries are imported when the first file is read. It was never tried with a trained detector, since none was available.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
from numpy import bool_, float32
from numpy.typing import NDArray

from housequest.worlds.alfred.simulator.base import kind_in as kind_of_id
from housequest.worlds.errors import ConfigurationError, Unsupported, nearest, shown
from housequest.worlds.options import option, read_options
from housequest.worlds.rooms.render import Frame

SIZE = (150, 150)  # Columns and rows of the frames: half of ALFRED's each way, at a quarter of the cost.
SMALL = 100 / 90_000  # Objects that fill less of the picture than this are missed twice as often: 100 pixels of 300 x 300.
MOST_MISSED = 0.95
_KINDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("kinds.toml").read_text("utf-8"))
LOOK_ALIKES: tuple[str, ...] = tuple(_KINDS["look_alikes"]["groups"])  # Kinds that are confused with each other.
BLEED = 0.25  # Where depth jumps by more than this, in metres, noisy depth mixes both sides.
_COARSE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """A detected object: its kind in lower case without spaces, a score from 0 to 1, and the mask of its pixels."""

    kind: str
    score: float
    mask: NDArray[bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Percept:
    """A perceived frame: depth in metres along the camera's axis, and the detections."""

    depth: NDArray[float32]
    detections: tuple[Detection, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(sorted({one.kind for one in self.detections}))


@dataclass(frozen=True, slots=True)
class Truth:
    size = SIZE

    def see(self, frame: Frame, number: int) -> Percept:
        del number
        return Percept(frame.depth, tuple(Detection(kind_in(name), 1.0, mask) for name, mask in _masks(frame)))


@dataclass(frozen=True, slots=True)
class Noisy:
    """The truth with errors. They are drawn from the seed, the frame's number and the object, so they do not depend on the
    other objects in the picture."""

    miss: float = option(0.0, "the probability that a thing is not seen in a frame; twice that if it is small", most=1)
    confuse: float = option(0.0, "the probability that a thing is taken for one of another kind", most=1)
    depth: float = option(0.0, "the standard deviation of depth, as a share of it; edges get blurred", most=1)
    seed: int = option(0, "draws the errors")
    size = SIZE

    def see(self, frame: Frame, number: int) -> Percept:
        found: list[Detection] = []
        for name, mask in _masks(frame):
            draw = Random(f"{self.seed}/{number}/{name}")
            missed, confused, sure = draw.random(), draw.random(), draw.random()
            small = int(mask.sum()) < SMALL * mask.size
            if missed < (max(self.miss, min(MOST_MISSED, 2 * self.miss)) if small else self.miss):
                continue
            kind = kind_in(name)
            others = [other for group in map(str.split, LOOK_ALIKES) if kind in group for other in group if other != kind]
            wrong = confused < self.confuse and bool(others)
            found.append(Detection(draw.choice(others) if wrong else kind, (0.4 if wrong else 0.5) + 0.5 * sure, mask))
        return Percept(self._depth(frame.depth, number), tuple(found))

    def _depth(self, depth: NDArray[float32], number: int) -> NDArray[float32]:
        if not self.depth:
            return depth
        # Errors of depth vary smoothly: factors are drawn at the corners of a coarse grid and interpolated.
        draw = Random(f"{self.seed}/{number}/depth")
        corners = np.array(
            [[1 + self.depth * draw.gauss() for _ in range(_COARSE + 1)] for _ in range(_COARSE + 1)], np.float32
        )
        along, across = (np.linspace(0, _COARSE, size, endpoint=False, dtype=np.float32) for size in depth.shape)
        rows, columns = along.astype(int), across.astype(int)
        down, right = (along - rows)[:, None], (across - columns)[None, :]
        above = corners[rows][:, columns] * (1 - right) + corners[rows][:, columns + 1] * right
        below = corners[rows + 1][:, columns] * (1 - right) + corners[rows + 1][:, columns + 1] * right
        worse = np.maximum(depth * (above * (1 - down) + below * down), np.float32(0.05))
        for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
            # Outside the room depth is infinite, which is no edge.
            with np.errstate(invalid="ignore"):
                jumps = np.abs(depth[here] - depth[there]) > BLEED
            between = (worse[here] + worse[there]) / 2
            worse[here] = np.where(jumps, between, worse[here])
            worse[there] = np.where(jumps, between, worse[there])
        worse.flags.writeable = False
        return worse


def kind_in(name: str) -> str:
    """The kind in a name such as ``mug 2`` or an id such as ``Apple|+01.0|+00.9|-00.2|AppleSliced_1``, in lower case."""
    return kind_of_id(name).partition("_")[0].rstrip("0123456789 ").replace(" ", "").lower()


def _masks(frame: Frame) -> Iterator[tuple[str, NDArray[bool_]]]:
    for number in np.unique(frame.ids):
        if number >= 0:
            yield frame.names[int(number)], frame.ids == number


CLASSES: dict[str, tuple[str, ...]] = {which: tuple(names.split()) for which, names in _KINDS["classes"].items()}
LEAST_SCORE = 0.5
LARGEST = 2 << 30
PICTURE = (300, 300)  # Columns and rows of ALFRED's pictures, on which ALFWorld's detectors were trained.
_OUTPUTS = 4
_LEVELS = 5
# The number of anchors at a position identifies them: those of ALFWorld's detectors, or torchvision's own.
_ANCHORS = {
    32: ((tuple(4 << power for power in range(8)),) * _LEVELS, ((0.25, 0.5, 1.0, 2.0),) * _LEVELS),
    3: (tuple((32 << level,) for level in range(_LEVELS)), ((0.5, 1.0, 2.0),) * _LEVELS),
}
_ANCHORED, _CLASSIFIED = "rpn.head.cls_logits.weight", "roi_heads.box_predictor.cls_score.weight"
Network = Callable[["NDArray[float32]"], "tuple[NDArray[Any], NDArray[Any], NDArray[Any]]"]
"""Takes a picture (3, height, width) with values from 0 to 1; returns labels, scores and masks (number, 1, height, width)."""
Reader = Callable[[Path, int], Network]
"""Reads a network with a number of classes from a file. Raises ``ConfigurationError``, or any exception for a broken file."""


@dataclass(frozen=True, slots=True)
class DetectorPerception:
    """Detections by one or two networks, for objects and for receptacles. Depth is the simulator's own."""

    networks: tuple[tuple[tuple[str, ...], Network], ...]
    size: tuple[int, int] = PICTURE

    @classmethod
    def load(cls, kind: str, files: Mapping[str, str], read: Reader) -> DetectorPerception:
        """Load a network of this ``kind`` for each list of classes in ``files``. Raises ``ConfigurationError``."""
        unknown = [one for one in files if one not in CLASSES]
        if unknown or not files:
            hint = nearest(unknown[0], tuple(CLASSES)) if unknown else ""
            raise ConfigurationError(f"{kind!r} takes objects=FILE and receptacles=FILE, by which classes the file has.{hint}")
        networks: list[tuple[tuple[str, ...], Network]] = []
        for which, file in files.items():
            try:
                path = Path(file).expanduser()
                if path.stat().st_size > LARGEST:
                    raise ConfigurationError(f"{shown(file, 400)} is too large for a detector.")
                networks.append((CLASSES[which], read(path, len(CLASSES[which]))))
            except ConfigurationError:
                raise
            except Exception as error:  # the libraries' own errors have no class in common
                raise ConfigurationError(f"{shown(file, 400)} cannot be loaded as a detector: {shown(str(error))}") from error
        return cls(tuple(networks))

    def see(self, frame: Frame, number: int) -> Percept:
        del number
        picture = np.ascontiguousarray(frame.rgb.transpose(2, 0, 1), np.float32) / np.float32(255)
        found: list[Detection] = []
        for classes, network in self.networks:
            labels, scores, masks = network(picture)
            label: int
            for label, score, mask in zip(labels.tolist(), scores.tolist(), masks, strict=True):
                if score >= LEAST_SCORE and 1 <= label <= len(classes):
                    found.append(Detection(classes[label - 1], float(score), mask.reshape(mask.shape[-2:]) >= LEAST_SCORE))
        return Percept(frame.depth, tuple(found))


Perception = Truth | Noisy | DetectorPerception
"""Turns a frame into a `Percept`: ``size`` has the columns and rows of the frames it wants, and ``number`` is the frame's place
in its episode. Equal frames with equal numbers give equal percepts. Only the first two read the frame's own masks."""


def read_onnx(path: Path, _classes: int) -> Network:
    """Read a network exported to ONNX: one picture goes in; boxes, labels, scores and masks come out. Raises
    ``ConfigurationError``, and onnxruntime's own errors for a broken file."""
    onnxruntime = _imported("onnxruntime", "onnxruntime", "detect")
    session: Any = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    if len(session.get_inputs()) != 1 or len(session.get_outputs()) != _OUTPUTS:
        raise ConfigurationError(
            f"{shown(str(path), 400)} is not a detector as torchvision exports it; give one with one input, and boxes, labels, "
            "scores and masks as outputs."
        )
    taken = session.get_inputs()[0]

    def run(picture: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        _, labels, scores, masks = session.run(None, {taken.name: picture[None] if len(taken.shape) == 4 else picture})
        return labels, scores, masks

    return run


def read_maskrcnn(path: Path, classes: int) -> Network:
    """Read the weights (a state dict, as ``torch.save`` writes it) of a Mask R-CNN on a ResNet-50 with a feature pyramid. Only
    tensors are read, and no code is run. Raises ``ConfigurationError``, and torch's own errors for a broken file."""
    torch = _imported("torch", "torch and torchvision", "maskrcnn")
    detection = _imported("torchvision.models.detection", "torch and torchvision", "maskrcnn")
    weights: Any = torch.load(path, map_location="cpu", weights_only=True)
    anchors = _ANCHORS.get(_rows(weights, _ANCHORED, path))
    there = _rows(weights, _CLASSIFIED, path) - 1
    if there != classes:
        raise ConfigurationError(f"{shown(str(path), 400)} has {there} classes, not the {classes} of ALFWorld's detector.")
    if anchors is None:
        raise ConfigurationError(
            f"{shown(str(path), 400)} has neither the anchors of ALFWorld's detectors nor those of torchvision's Mask R-CNN."
        )
    # ALFWorld's detectors were trained from weights that add no epsilon to variances.
    frozen = partial(import_module("torchvision.ops").FrozenBatchNorm2d, eps=0.0)
    backbone = detection.backbone_utils.resnet_fpn_backbone(backbone_name="resnet50", weights=None, norm_layer=frozen)
    generator = detection.anchor_utils.AnchorGenerator(*anchors)
    model: Any = detection.MaskRCNN(backbone, classes + 1, rpn_anchor_generator=generator)
    model.load_state_dict(weights)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device).eval()

    def run(picture: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        with torch.inference_mode():
            found = model([torch.from_numpy(picture).to(device)])[0]
        labels, scores, masks = (found[name].cpu().numpy() for name in ("labels", "scores", "masks"))
        return labels, scores, masks

    return run


def _rows(weights: Any, name: str, path: Path) -> int:
    known = cast("dict[str, Any]", weights) if isinstance(weights, dict) else dict[str, Any]()
    if shape := getattr(known.get(name), "shape", ()):
        return int(shape[0])
    what = "it is not a state dict of torchvision's Mask R-CNN with a ResNet-50; give one."
    raise ConfigurationError(f"{shown(str(path), 400)} has no {name}, so {what}")


def _imported(module: str, packages: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigurationError(f"This detector needs {packages}: pip install 'housequest[{extra}]' ({error}).") from error


_DETECTORS: dict[str, Reader] = {"onnx": read_onnx, "maskrcnn": read_maskrcnn}


def make_perception(text: str, *, pictures: str = "boxes") -> Perception:
    """Make the perception that ``text`` names; ``pictures`` is the engine that draws the frames, such as ``boxes``. Raises
    ``ConfigurationError``, and ``Unsupported`` for a detector trained on photographs with the engine ``boxes``."""
    kind, _, rest = text.strip().partition(":")
    if kind == "truth" and not rest:
        return Truth()
    if kind == "noisy":
        return read_options(Noisy, _pairs(rest, text), owner=f"The perception {kind!r}")
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
