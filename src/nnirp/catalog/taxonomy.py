"""The taxonomy: six families and their sub-families, each explained in a line."""

from dataclasses import dataclass

FAMILIES = (
    "attention_decoder",
    "attention_encoder",
    "attention_encoder_decoder",
    "convolutional",
    "detection",
    "recurrent",
)


@dataclass(frozen=True)
class SubFamily:
    """A group of architectures an expert would name in one breath; `family` is one of `FAMILIES`."""

    name: str
    family: str
    description: str


SUB_FAMILIES: dict[str, SubFamily] = {
    name: SubFamily(name, family, description)
    for family, name, description in (
        ("attention_decoder", "absolute_position_decoder", "causal language models with learned absolute positions"),
        ("attention_decoder", "rotary_position_decoder", "causal language models with rotary positions"),
        ("attention_decoder", "alibi_decoder", "causal language models with linear attention biases (ALiBi)"),
        ("attention_decoder", "mixture_of_experts_decoder", "causal language models with routed experts"),
        ("attention_decoder", "state_space_decoder", "causal language models with state-space or linear recurrences"),
        ("attention_encoder", "text_encoder", "bidirectional text encoders with full attention"),
        ("attention_encoder", "long_text_encoder", "text encoders with sparse, windowed or linear attention"),
        ("attention_encoder", "plain_vision_encoder", "vision transformers with one resolution from patches to head"),
        ("attention_encoder", "hierarchical_vision_encoder", "vision transformers with a pyramid of resolutions"),
        ("attention_encoder", "hybrid_vision_encoder", "vision encoders that mix convolution and attention"),
        ("attention_encoder", "dense_prediction_encoder", "vision transformers with a segmentation or depth head"),
        ("attention_encoder", "video_encoder", "encoders of frame sequences with spatio-temporal attention"),
        ("attention_encoder", "audio_encoder", "encoders of waveforms or spectrograms"),
        ("attention_encoder", "two_tower_encoder", "an image and a text encoder compared by similarity"),
        ("attention_encoder", "document_encoder", "encoders of text with its layout or page image"),
        ("attention_encoder", "time_series_encoder", "transformers over patches or steps of time series"),
        ("attention_encoder_decoder", "text_encoder_decoder", "text-to-text transformers with cross attention"),
        ("attention_encoder_decoder", "speech_encoder_decoder", "speech-to-text transformers with cross attention"),
        ("attention_encoder_decoder", "vision_encoder_decoder", "image-to-text transformers with cross attention"),
        ("attention_encoder_decoder", "time_series_encoder_decoder", "forecasting transformers with cross attention"),
        ("convolutional", "standard_convolution_network", "networks of dense or grouped spatial convolutions"),
        ("convolutional", "depthwise_separable_network", "networks of depthwise and pointwise convolutions"),
        ("detection", "anchor_detector", "convolutional detectors with dense per-location heads"),
        ("detection", "set_prediction_detector", "detectors with object queries and global cross attention (DETR)"),
        (
            "detection",
            "deformable_detector",
            "detectors with multi-scale deformable attention, real-time ones included",
        ),
        ("detection", "vision_transformer_detector", "plain vision transformers with a detection head"),
        ("recurrent", "gated_recurrent_network", "stacks of LSTM or GRU layers"),
        ("recurrent", "convolutional_recurrent_network", "convolutional features followed by recurrent layers"),
    )
}
