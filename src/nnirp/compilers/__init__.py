"""The compiler benchmark exists to say what a graph compiler is worth on a device: how throughput scales with the batch, and which ranking it turns."""
