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
        "attention_decoder",
        {
            "EleutherAI/gpt-j-6B": "24.2 GB of weights; its architecture is swept at small sizes",
            "Salesforce/ctrl": "6.5 GB of weights",
            "ai21labs/Jamba-v0.1": "about 206 GB of weights",
            "allenai/OLMoE-1B-7B-0924": "27.7 GB of weights; its architecture is swept at small sizes",
            "google/recurrentgemma-2b": "10.7 GB of weights; its architecture is swept at small sizes",
            "microsoft/phi-1": "5.7 GB of weights",
            "mistralai/Mixtral-8x7B-v0.1": "187 GB of weights; its architecture is swept at small sizes",
            "mosaicml/mpt-7b": "26.6 GB of weights; its architecture is swept at small sizes",
            "openai/gpt-oss-20b": "about 84 GB of weights; its architecture is swept at small sizes",
            "tiiuae/falcon-rw-1b": "5.2 GB of weights; its architecture is swept at small sizes",
            "FacebookAI/xlm-clm-ende-1024": "asks its input for the longest text in it, which no trace can answer",
            "google/reformer-crime-and-punishment": "sorts tokens by random hashes of their values",
        },
    ),
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
        "attention_encoder_decoder",
        {
            "openai/whisper-medium": "about 1,100 GFLOPs a window of thirty seconds; the encoder of whisper-small takes 320",
            "google/bigbird-pegasus-large-arxiv": "about 290 GFLOPs for 705 tokens, below which its attention is not sparse",
            "facebook/nllb-moe-54b": "about 218 GB of weights",
            "facebook/hf-seamless-m4t-medium": "about 4.8 GB of weights",
            "google/switch-base-8": "runs only the experts that the input's values choose, in a loop that no trace can follow",
            "allenai/led-base-16384": "asks the mask's values for global tokens, which no trace can answer",
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
