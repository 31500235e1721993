"""Errors a user can act on: each message is one line that says what is wrong, where, what was expected and what to run next.

The command line turns them into exit codes: 1 for an operation that failed, 2 for input that was refused.
"""


class NnirpError(Exception):
    """An operation failed for a reason a user can act on."""

    exit_code = 1


class InputError(NnirpError):
    """The input was refused and nothing was written."""

    exit_code = 2


class UnsafeFileError(InputError):
    """A file asks for something that reading data must never do: run code, leave its folder, grow without end."""


class MissingDependencyError(InputError):
    """An optional package is not installed; the message holds the line that installs it."""


class NotPulledError(InputError):
    """A data file is absent; the message holds the command that brings it."""


def innermost(error: BaseException) -> BaseException:
    """The first cause of an error that others wrapped, as exporters do with their advice on how to report it."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error
