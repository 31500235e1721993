"""Source configurations 401–499: convolutional networks."""

from nnirp.catalog.grids import Grid, Row, points, zip_sweep
from nnirp.catalog.rows.shorthand import hub, parametric, points_within, timm_model

_STANDARD, _DEPTHWISE = "standard_convolution_network", "depthwise_separable_network"
_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)

_RESIDUAL_SIZES = zip_sweep(width=(16, 32, 48, 64, 32), depth=(2, 2, 3, 1, 4), stages=(3, 4, 3, 4, 4))
_INVERTED_KERNELS = zip_sweep(width=(16, 32), depth=(3, 2), stages=(4, 3), expansion=(6, 3), kernel=(5, 7))
_INVERTED_SIZES = zip_sweep(width=(16, 24, 32, 48), depth=(2, 3, 4, 2), stages=(4, 4, 4, 4))


_BOTTLENECK_SIZES = zip_sweep(
    layers=((1, 1, 1, 1), (2, 2, 2, 2), (2, 2, 2, 2), (3, 4, 6, 3)),
    cardinality=(1, 1, 8, 32),
    base_width=(64, 32, 12, 2),
)
_REGNET_SIZES = zip_sweep(
    depth=(13, 15, 18, 22),
    w0=(24, 48, 80, 24),
    wa=(36.0, 32.5, 34.0, 24.5),
    wm=(2.5, 2.3, 2.25, 2.6),
    group_size=(8, 16, 40, 8),
    se_ratio=(0.0, 0.0, 0.25, 0.25),
)
_DENSENET_SIZES = zip_sweep(
    growth_rate=(12, 24, 32, 16), block_config=((4, 6, 8, 6), (3, 6, 12, 8), (6, 6, 6, 6), (6, 12, 16, 12))
)
_CONVNEXT_SIZES = zip_sweep(
    depths=((2, 2, 4, 2), (2, 2, 6, 2), (1, 1, 3, 1), (3, 3, 6, 3)),
    dims=((32, 64, 128, 256), (40, 80, 160, 320), (64, 128, 256, 512), (48, 96, 192, 384)),
    kernel_sizes=(7, 5, 7, 9),
)
_PLAIN_SIZES = zip_sweep(width=(16, 32, 24, 64), depth=(2, 1, 2, 1), stages=(4, 5, 4, 4), kernel=(3, 3, 5, 3))
_UNET_SIZES = zip_sweep(width=(8, 16, 24, 32), levels=(4, 3, 4, 2))


def _timm(identifier: int, architecture: str, sub_family: str, *grids: Grid, more: tuple[Grid, ...] = ()) -> Row:
    arguments = {"architecture": architecture}
    return Row(identifier, architecture, sub_family, "timm_classifier", arguments, "timm", "im", grids, more)


def _native(identifier: int, architecture: str, sub_family: str, size: int, largest: int) -> Row:
    """A timm architecture at the size it was made for, batches up to the largest that its cost allows."""
    grid = Grid(points((size,), tuple(b for b in _BATCHES if b <= largest)))
    return timm_model(identifier, architecture, sub_family, "timm_classifier", grid)


def _torchvision(identifier: int, architecture: str, sub_family: str, size: int, largest: int) -> Row:
    grid = Grid(points((size,), tuple(b for b in _BATCHES if b <= largest)))
    arguments = {"architecture": architecture}
    return Row(
        identifier, architecture, sub_family, "torchvision_classifier", arguments, "torchvision", "im", more=(grid,)
    )


ROWS = (
    _timm(
        401,
        "resnet18",
        "standard_convolution_network",
        Grid((*points((128, 224), (1, 2, 4, 8)), (320, 1), (320, 2))),
        Grid(points((224,), (1, 4)), precision="bf16"),
        more=(
            Grid((*points((128, 224), (3, 6, 12, 16, 24)), *points((320,), (3, 4, 6, 8)))),
            Grid(points((224,), (2, 8, 16)), precision="bf16"),
        ),
    ),
    _timm(
        402,
        "resnet50",
        "standard_convolution_network",
        Grid(points((160, 224), (1, 2, 4))),
        more=(Grid((*points((160, 224), (3, 6, 8, 12)), (160, 16))),),
    ),
    _timm(
        403,
        "mobilenetv3_large_100",
        "depthwise_separable_network",
        Grid(points((160, 224), (1, 4, 8))),
        Grid(((224, 4),), precision="bf16"),
        more=(
            Grid(points((160, 224), (2, 3, 6, 12, 16, 24, 32))),
            Grid(points((224,), (1, 2, 8, 16)), precision="bf16"),
        ),
    ),
    _timm(
        404,
        "efficientnet_b0",
        "depthwise_separable_network",
        Grid(points((192, 224), (1, 2, 4))),
        more=(Grid(points((192, 224), (3, 6, 8, 12, 16, 24))),),
    ),
    _timm(
        405,
        "convnext_atto",
        "depthwise_separable_network",
        Grid(points((160, 224), (1, 2, 4))),
        more=(Grid(points((160, 224), (3, 6, 8, 12, 16, 24))),),
    ),
    _timm(
        406,
        "regnety_004",
        "standard_convolution_network",
        Grid(points((160, 224), (1, 2, 4))),
        more=(Grid(points((160, 224), (3, 6, 8, 12, 16, 24, 32))),),
    ),
    _timm(
        407,
        "densenet121",
        "standard_convolution_network",
        Grid(points((128, 224), (1, 2))),
        more=(Grid((*points((128, 224), (3, 4, 6, 8)), (128, 12), (128, 16))),),
    ),
    Row(
        408,
        "residual-parametric",
        "standard_convolution_network",
        "parametric_residual",
        {},
        "nnirp",
        "im",
        (Grid(((96, 4), (160, 2), (224, 1), (224, 2)), _RESIDUAL_SIZES),),
        (
            Grid(
                (
                    *points((96,), (1, 2, 3, 6, 8, 12, 16, 24, 32)),
                    *points((160,), (1, 3, 4, 6, 8, 12, 16, 24)),
                    *points((224,), (3, 4, 6, 8, 12, 16)),
                ),
                _RESIDUAL_SIZES,
            ),
        ),
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
        (
            Grid(
                (*points((128,), (1, 2, 3, 4, 6, 12, 16, 24, 32)), *points((224,), (2, 3, 6, 8, 12, 16))),
                _INVERTED_SIZES,
            ),
            Grid(points((224,), _BATCHES[:8]), _INVERTED_KERNELS),
        ),
        parametric=True,
    ),
    _native(410, "vgg11", _STANDARD, 224, 8),
    _native(411, "resnext50_32x4d", _STANDARD, 224, 12),
    _native(412, "inception_v3", _STANDARD, 299, 8),
    _native(413, "dpn68", _STANDARD, 224, 16),
    _native(414, "hrnet_w18_small", _STANDARD, 224, 16),
    _native(415, "cspdarknet53", _STANDARD, 256, 8),
    _native(416, "eca_nfnet_l0", _STANDARD, 224, 8),
    _native(417, "repvgg_a0", _STANDARD, 224, 24),
    _native(418, "convnextv2_atto", _DEPTHWISE, 224, 24),
    _native(419, "mobilenetv2_100", _DEPTHWISE, 224, 32),
    _native(420, "mobilenetv4_conv_small", _DEPTHWISE, 224, 32),
    _native(421, "mnasnet_100", _DEPTHWISE, 224, 32),
    _native(422, "ghostnet_100", _DEPTHWISE, 224, 32),
    _native(423, "rexnet_100", _DEPTHWISE, 224, 24),
    _native(424, "tinynet_a", _DEPTHWISE, 192, 32),
    _native(425, "lcnet_100", _DEPTHWISE, 224, 32),
    _native(426, "fbnetc_100", _DEPTHWISE, 224, 32),
    _torchvision(427, "shufflenet_v2_x1_0", _DEPTHWISE, 224, 32),
    _torchvision(428, "squeezenet1_1", _STANDARD, 224, 32),
    hub(
        429,
        "google/mobilenet_v1_1.0_224",
        _DEPTHWISE,
        "convolutional_classifier",
        "im",
        Grid(points((224,), _BATCHES[:9])),
        model_type="mobilenet_v1",
        num_labels=1001,
    ),
    hub(
        430,
        "google/bit-50",
        _STANDARD,
        "convolutional_classifier",
        "im",
        Grid(points((224,), (1, 2, 3, 4, 6, 8))),
        model_type="bit",
        num_labels=1000,
    ),
    hub(
        431,
        "PaddlePaddle/PP-LCNet_x1_0_doc_ori_safetensors",
        _DEPTHWISE,
        "convolutional_classifier",
        "im",
        Grid(points((224,), _BATCHES)),
        model_type="pp_lcnet",
        _output="last_hidden_state",
        num_labels=4,
    ),
    parametric(
        432,
        "bottleneck-parametric",
        _STANDARD,
        "parametric_bottleneck",
        "im",
        Grid(points_within((128, 224), _BATCHES, 224**2 * 12, power=2), _BOTTLENECK_SIZES),
        library="timm",
    ),
    parametric(
        433,
        "regnet-parametric",
        _STANDARD,
        "parametric_regnet",
        "im",
        Grid(points_within((128, 224), _BATCHES, 224**2 * 24, power=2), _REGNET_SIZES),
        library="timm",
    ),
    parametric(
        434,
        "densenet-parametric",
        _STANDARD,
        "parametric_densenet",
        "im",
        Grid(points_within((112, 192), _BATCHES, 192**2 * 12, power=2), _DENSENET_SIZES),
        library="timm",
    ),
    parametric(
        435,
        "convnext-parametric",
        _DEPTHWISE,
        "parametric_convnext",
        "im",
        Grid(points_within((128, 224), _BATCHES, 224**2 * 16, power=2), _CONVNEXT_SIZES),
        library="timm",
    ),
    parametric(
        436,
        "plain-parametric",
        _STANDARD,
        "parametric_plain",
        "im",
        Grid(points_within((96, 192), _BATCHES, 192**2 * 12, power=2), _PLAIN_SIZES),
        library="nnirp",
    ),
    parametric(
        437,
        "unet-parametric",
        _STANDARD,
        "parametric_unet",
        "im",
        Grid(points_within((96, 192), _BATCHES, 192**2 * 12, power=2), _UNET_SIZES),
        library="nnirp",
    ),
)
