"""Detection heads: suppression of overlapping boxes and region pooling."""

from nnirp.features.costs.registry import Call, flops

# Intersection over union of two boxes: 4 max/min, 2 subtractions, 2 clamps, 1 product, 2 additions, 1 division, 1 comparison.
_IOU_FLOPS = 13.0


@flops("NonMaxSuppression")
def non_maximum_suppression(call: Call) -> float:
    """Worst case a class: n² / 2 overlaps of 13 FLOPs and a sort of n·log2(n), n being the boxes.

    How many boxes survive depends on the data, so this is an upper bound. Source: ONNX NonMaxSuppression; Neubeck & Van Gool, 2006.
    """
    batch, boxes, _ = call.inputs[0].shape
    classes = call.inputs[1].shape[1]
    sort = boxes * max(boxes.bit_length() - 1, 1)
    return batch * classes * (boxes * boxes / 2 * _IOU_FLOPS + sort)


@flops("RoiAlign")
def roi_align(call: Call) -> float:
    """Per output, ratio² bilinear samples (4 MACs) and their mean; a ratio of 0 (adaptive) counts as 2.

    Source: He et al., Mask R-CNN, 2017, section 3; ONNX RoiAlign.
    """
    samples = (call.attributes.get("sampling_ratio", 0) or 2) ** 2
    return call.out.size * samples * (8.0 + 1.0)


@flops("MaxRoiPool")
def max_roi_pool(call: Call) -> float:
    """One comparison for every input element under a region, taken as the whole map divided into the bins.

    Source: Girshick, Fast R-CNN, 2015, section 2.1; ONNX MaxRoiPool.
    """
    feature, regions = call.inputs[0].shape, call.inputs[1].shape[0]
    return float(regions * feature[1] * feature[2] * feature[3])
