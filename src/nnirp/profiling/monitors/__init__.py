"""What is measured beside time: one file a quantity, each giving `null` and a reason where it cannot be read."""

MIB = 2**20
"""Bytes of one MB in every record: the binary megabyte that torch's allocator and NVIDIA's tools print as MB or MiB."""


class Unavailable(Exception):
    """A quantity cannot be read on this machine; the message is the reason that goes into the record."""
