"""Errors of the catalog."""

from nnirp.errors import NnirpError


class BuilderError(NnirpError):
    """A builder failed, most often because a library changed; the message names the builder and the library's version."""
