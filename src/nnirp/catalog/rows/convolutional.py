"""Source configurations 401–499: convolutional networks.

(being extended by its own author; leave alone)
"""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep

_RESIDUAL_SIZES = zip_sweep(width=(16, 32, 48, 64, 32), depth=(2, 2, 3, 1, 4), stages=(3, 4, 3, 4, 4))
_INVERTED_SIZES = zip_sweep(width=(16, 24, 32, 48), depth=(2, 3, 4, 2), stages=(4, 4, 4, 4))


def _timm(identifier: int, architecture: str, sub_family: str, *grids: Grid) -> Row:
    return Row(
        identifier, architecture, sub_family, "timm_classifier", {"architecture": architecture}, "timm", "im", grids
    )


ROWS = (
    _timm(
        401,
        "resnet18",
        "standard_convolution_network",
        Grid((*points((128, 224), (1, 2, 4, 8)), (320, 1), (320, 2))),
        Grid(points((224,), (1, 4)), precision="bf16"),
    ),
    _timm(402, "resnet50", "standard_convolution_network", Grid(points((160, 224), (1, 2, 4)))),
    _timm(
        403,
        "mobilenetv3_large_100",
        "depthwise_separable_network",
        Grid(points((160, 224), (1, 4, 8))),
        Grid(((224, 4),), precision="bf16"),
    ),
    _timm(404, "efficientnet_b0", "depthwise_separable_network", Grid(points((192, 224), (1, 2, 4)))),
    _timm(405, "convnext_atto", "depthwise_separable_network", Grid(points((160, 224), (1, 2, 4)))),
    _timm(406, "regnety_004", "standard_convolution_network", Grid(points((160, 224), (1, 2, 4)))),
    _timm(407, "densenet121", "standard_convolution_network", Grid(points((128, 224), (1, 2)))),
    Row(
        408,
        "residual-parametric",
        "standard_convolution_network",
        "parametric_residual",
        {},
        "nnirp",
        "im",
        (Grid(((96, 4), (160, 2), (224, 1), (224, 2)), _RESIDUAL_SIZES),),
        parametric=True,
    ),
    Row(
        409,
        "inverted-residual-parametric",
        "depthwise_separable_network",
        "parametric_inverted_residual",
        {},
        "nnirp",
        "im",
        (Grid(((128, 8), (224, 1), (224, 4)), _INVERTED_SIZES),),
        parametric=True,
    ),
)
