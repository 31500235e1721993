"""Architectures the catalog leaves out, each with the reason; a limit is 150 GFLOPs or 3 GB of weights for one float32 sample."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LeftOut:
    """A published model or a model type that is not measured, and why."""

    name: str
    family: str
    reason: str


def _family(family: str, reasons: dict[str, str]) -> tuple[LeftOut, ...]:
    return tuple(LeftOut(name, family, reason) for name, reason in reasons.items())


LEFT_OUT: tuple[LeftOut, ...] = (
    *_family(
        "attention_encoder",
        {
            "Intel/dpt-large": "516 GFLOPs an image of 384 pixels",
            "apple/aimv2-large-patch14-224-lit": "166 GFLOPs an image",
            "facebook/dinov2-giant": "3,567 GFLOPs an image, 4.5 GB of weights",
            "facebook/pixio-huge": "344 GFLOPs an image",
            "facebook/vjepa2-vitl-fpc64-256": "1,656 GFLOPs a clip of 16 frames",
            "facebook/xlm-roberta-xl": "13.9 GB of weights",
            "nvidia/parakeet-ctc-1.1b": "282 GFLOPs for ten seconds, 4.3 GB of weights; its encoder is swept at small sizes",
            "dinat": "needs the package natten",
            "layoutlmv2": "needs the package detectron2",
            "siglip2": "resizes positions to every image's own shape, in a loop over the values of an input",
            "xlnet": "makes its positions on the processor whatever the model's device, which the export on meta refuses",
            "ibert": "reads values of its tensors back while it runs, which no trace can answer",
        },
    ),
    *_family(
        "convolutional",
        {
            "convnext_xxlarge": "396 GFLOPs an image, 3.4 GB of weights",
            "dm_nfnet_f4": "242 GFLOPs an image of 384 pixels",
            "efficientnet_l2": "951 GFLOPs an image of 800 pixels",
            "regnety_1280": "749 GFLOPs an image of 384 pixels",
            "resnetv2_152x4_bit": "1,679 GFLOPs an image of 480 pixels, 3.8 GB of weights",
            "resnext101_32x32d": "174 GFLOPs an image",
        },
    ),
    *_family(
        "detection",
        {
            "hustvl/yolos-base": "437 GFLOPs an image of 512 × 864 pixels",
            "google/owlv2-base-patch16": "1,094 GFLOPs an image of 960 pixels in its vision tower",
            "fasterrcnn_resnet50_fpn": "how many regions its second stage sees depends on the image's values",
        },
    ),
)
