"""Reads the networks of detectors, with libraries that are imported when the first file is read.

`read_onnx` takes what torchvision exports (extra ``detect``), `read_maskrcnn` the weights of torchvision's own Mask R-CNN, such
as ALFWorld's detectors (extra ``maskrcnn``). Both take a picture of 3 x height x width from 0 to 1.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from housequest.agent.alfred.seeing.detector import Network
from housequest.worlds.errors import ConfigurationError, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OUTPUTS = 4
_LEVELS = 5
# How many anchors a place of the picture has tells which they are: those of ALFWorld's detectors, or torchvision's own.
_ANCHORS = {
    32: ((tuple(4 << power for power in range(8)),) * _LEVELS, ((0.25, 0.5, 1.0, 2.0),) * _LEVELS),
    3: (tuple((32 << level,) for level in range(_LEVELS)), ((0.5, 1.0, 2.0),) * _LEVELS),
}
_ANCHORED, _CLASSIFIED = "rpn.head.cls_logits.weight", "roi_heads.box_predictor.cls_score.weight"


def read_onnx(path: Path, classes: int) -> Network:
    """Read a network exported to ONNX: one picture goes in; boxes, labels, scores and masks come out.

    Raises ``ConfigurationError``, and what onnxruntime raises for a broken file.
    """
    del classes
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
    """Read the weights (a state dict, as ``torch.save`` writes it) of a Mask R-CNN over a ResNet-50 with feature pyramid.

    Only tensors are read, and no code is run. Raises ``ConfigurationError``, and what torch raises for a broken file.
    """
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
    # As in the weights from which ALFWorld's detectors were trained, nothing is added to variances.
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
    """The first dimension of the tensor of this name."""
    known = cast("dict[str, Any]", weights) if isinstance(weights, dict) else dict[str, Any]()
    shape = getattr(known.get(name), "shape", ())
    if not shape:
        raise ConfigurationError(
            f"{shown(str(path), 400)} has no {name}, so it is not a state dict of torchvision's Mask R-CNN with a ResNet-50; "
            "give one."
        )
    return int(shape[0])


def _imported(module: str, packages: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigurationError(f"This detector needs {packages}: pip install 'housequest[{extra}]' ({error}).") from error
