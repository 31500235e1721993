"""Where a model fits on a GPU that is split into instances (NVIDIA Multi-Instance GPU), and which split serves it best."""
