import pytest
import torch

from nnirp.catalog.builders.convolutional import InvertedResidual, UNet
from nnirp.catalog.builders.detection.vision_transformer import SimpleFeaturePyramid
from nnirp.catalog.builders.detection.yolo import BOX_BINS, Yolo


@pytest.mark.parametrize(("width", "levels"), [(8, 4), (24, 2)])
def test_unet_labels_every_pixel(width, levels):
    with torch.device("meta"):
        assert UNet(width, levels, classes=5)(torch.empty(2, 3, 96, 64)).shape == (2, 5, 96, 64)


@pytest.mark.parametrize(("expansion", "kernel"), [(3, 7), (6, 5)])
def test_inverted_residual_keeps_the_size_at_every_kernel(expansion, kernel):
    with torch.device("meta"):
        block = InvertedResidual(16, 16, 1, expansion=expansion, kernel=kernel)
        assert block(torch.empty(1, 16, 20, 20)).shape == (1, 16, 20, 20)
    assert block.body[3].weight.shape == (16 * expansion, 1, kernel, kernel)


@pytest.mark.parametrize(("width", "depth"), [(8, 1), (32, 2)])
def test_yolo_predicts_at_strides_8_16_and_32(width, depth):
    with torch.device("meta"):
        output = Yolo(width, depth, classes=7)(torch.empty(3, 3, 128, 128))
    assert output.shape == (3, 16**2 + 8**2 + 4**2, 4 * BOX_BINS + 7)


def test_feature_pyramid_has_strides_4_to_32_of_a_map_at_stride_16():
    with torch.device("meta"):
        maps = SimpleFeaturePyramid(64, 24)(torch.empty(1, 64, 16, 16))
    assert [tuple(m.shape) for m in maps] == [(1, 24, size, size) for size in (64, 32, 16, 8)]
