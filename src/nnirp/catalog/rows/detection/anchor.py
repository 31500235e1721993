"""Convolutional detectors with dense heads at every location."""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric

_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16)
_YOLO_SIZES = zip_sweep(width=(8, 12, 16, 24, 32), depth=(1, 2, 1, 2, 1))


def _torchvision(identifier: int, architecture: str, grid: Grid) -> Row:
    arguments = {"architecture": architecture}
    return Row(
        identifier,
        architecture,
        "anchor_detector",
        "torchvision_dense_detector",
        arguments,
        "torchvision",
        "im",
        more=(grid,),
    )


ROWS = (
    Row(
        501,
        "ssdlite320_mobilenet_v3_large",
        "anchor_detector",
        "torchvision_dense_detector",
        {"architecture": "ssdlite320_mobilenet_v3_large"},
        "torchvision",
        "im",
        (Grid(points((256, 320), (1, 2, 4))), Grid(((320, 1),), precision="bf16")),
        (Grid(points((256, 320), (3, 6, 8, 12, 16, 24))), Grid(points((320,), (2, 4, 8)), precision="bf16")),
    ),
    _torchvision(506, "fcos_resnet50_fpn", Grid((*points((256,), (1, 2, 3, 4)), *points((384,), (1, 2))))),
    _torchvision(507, "retinanet_resnet50_fpn", Grid((*points((256,), (1, 2, 3, 4)), *points((384,), (1, 2))))),
    _torchvision(508, "ssd300_vgg16", Grid(points((300,), (1, 2)))),
    hub(
        509,
        "PaddlePaddle/PP-OCRv5_mobile_det_safetensors",
        "anchor_detector",
        "text_region_detector",
        "im",
        Grid((*points((320,), (1, 2, 3, 4, 6, 8)), *points((480,), (1, 2, 3, 4)))),
        model_type="pp_ocrv5_mobile_det",
    ),
    parametric(
        510,
        "yolo-parametric",
        "anchor_detector",
        "parametric_yolo",
        "im",
        Grid((*points((256,), (*_BATCHES, 24)), *points((416,), _BATCHES[:7])), _YOLO_SIZES),
        library="nnirp",
    ),
)
