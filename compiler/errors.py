"""What can go wrong in the compiler, one class per failure.

    CompileLintError
    ├── CaptureError          Dynamo couldn't capture the function; lists every graph break
    ├── UnsupportedTarget     a `target=` that no back end here can build for
    ├── UnknownOption         an option or mode that doesn't exist
    ├── LoweringError         an operator met arguments that its lowering doesn't take (→ ATen)
    ├── VerifyError           a pass broke an invariant of the graph: a bug of ours
    ├── BuildError            Triton refused a kernel
    ├── InterpreterError      the interpreting process failed or died
    └── ArtifactError         a cache bundle that can't be trusted or doesn't fit this machine

`LoweringError` and `BuildError` never reach a user: the operator or the graph runs by ATen instead,
is counted and logged. They are public for those who extend the compiler.
"""

from __future__ import annotations


class CompileLintError(RuntimeError):
    """Any failure of the compiler."""


class CaptureError(CompileLintError):
    """A function can't be captured as one graph. `breaks` holds every graph break found."""

    def __init__(self, message: str, breaks: tuple = ()) -> None:
        super().__init__(message)
        self.breaks = breaks


class UnsupportedTarget(CompileLintError):
    """A `target=` that this version can't build for."""


class UnknownOption(CompileLintError):
    """An option or mode that this version doesn't have."""


class LoweringError(CompileLintError):
    """An operator met arguments that its lowering doesn't take; it runs by ATen."""


class VerifyError(CompileLintError):
    """A pass left the graph in a state that no later stage can read."""


class BuildError(CompileLintError):
    """Triton refused a kernel."""


class InterpreterError(CompileLintError):
    """The process that interprets kernels failed or died."""


class ArtifactError(CompileLintError):
    """A bundle of cache artifacts that is damaged, tampered with or made for another machine."""
