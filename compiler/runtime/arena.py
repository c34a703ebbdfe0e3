"""Memory that this process and the interpreter share, and how a launch's tensors lie in it.

The user's own memory never moves: it may back a NumPy array or be read by another thread. Tensors
are copied in, and what the kernel writes is copied back. Around every piece stand guard bytes, so
that a kernel that writes outside its arguments is caught here instead of on a GPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import torch

_LINE = 64  # bytes: pieces keep their addresses' remainder by this, which is more than any promise
_GUARD = 64
# As a float of any width it is NaN: a value that was read outside can't go unseen.
_PATTERN = b"\xff" * _GUARD
_SMALLEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """`size` bytes of this process's memory at `address`, at `offset` in the arena."""

    address: int
    size: int
    offset: int
    written: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a launch's tensors lie.

    Args:
        pieces: The memory to copy, without overlaps.
        offsets: Each tensor's first element, as an offset in the arena.
        size: Bytes of the arena in use, guards included.
    """

    pieces: tuple[Piece, ...]
    offsets: tuple[int, ...]
    size: int


def layout(tensors: Sequence[torch.Tensor], written: Sequence[bool]) -> Layout:
    """Lay CPU tensors out. Those whose memory overlaps share one piece, so they stay aliases."""
    spans = [(tensor.data_ptr(), _extent(tensor)) for tensor in tensors]
    order = sorted((i for i, span in enumerate(spans) if span[1]), key=lambda i: spans[i][0])
    merged: list[list] = []  # [first address, end, written, members]
    for i in order:
        start, end = spans[i][0], spans[i][0] + spans[i][1]
        if merged and start < merged[-1][1]:
            last = merged[-1]
            last[1], last[2] = max(last[1], end), last[2] or written[i]
            last[3].append(i)
        else:
            merged.append([start, end, written[i], [i]])
    offsets = [_GUARD] * len(spans)  # where an empty tensor points: never dereferenced
    pieces, at = [], 0
    for start, end, stored, members in merged:
        at += _GUARD
        at += (start - at) % _LINE
        pieces.append(Piece(start, end - start, at, stored))
        for i in members:
            offsets[i] = at + spans[i][0] - start
        at += end - start
    return Layout(tuple(pieces), tuple(offsets), at + _GUARD)


def _extent(tensor: torch.Tensor) -> int:
    """Bytes from a tensor's first element to the end of its last."""
    if tensor.numel() == 0:
        return 0
    last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride()))
    return (last + 1) * tensor.element_size()


class Arena:
    """Shared memory that grows. `fd` is what the other process maps."""

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self.fd = os.memfd_create("compile_lint")
        else:  # some distributions' Pythons lack it
            with tempfile.TemporaryFile() as file:
                self.fd = os.dup(file.fileno())
        self.size = 0
        self._map: mmap.mmap | None = None
        self._hold: ctypes.c_char | None = None
        self.base = 0

    def ensure(self, size: int) -> None:
        """Grow to at least `size` bytes; what is in it is lost."""
        if size <= self.size:
            return
        self.unmap()
        self.size = max(_SMALLEST, 1 << (size - 1).bit_length())
        os.ftruncate(self.fd, self.size)
        self._map, self._hold, self.base = mapped(self.fd, self.size)

    def copy_in(self, plan: Layout) -> None:
        """Copy the pieces in and set the guards around them."""
        self.ensure(plan.size)
        for piece in plan.pieces:
            at = self.base + piece.offset
            ctypes.memmove(at - _GUARD, _PATTERN, _GUARD)
            ctypes.memmove(at, piece.address, piece.size)
            ctypes.memmove(at + piece.size, _PATTERN, _GUARD)

    def broken(self, plan: Layout) -> Piece | None:
        """A piece that something was written beside, or into though it isn't `written`."""
        for piece in plan.pieces:
            at = self.base + piece.offset
            if ctypes.string_at(at - _GUARD, _GUARD) != _PATTERN:
                return piece
            if ctypes.string_at(at + piece.size, _GUARD) != _PATTERN:
                return piece
            if not piece.written and _memcmp(at, piece.address, piece.size):
                return piece
        return None

    def copy_back(self, plan: Layout) -> None:
        """Copy the written pieces back."""
        for piece in plan.pieces:
            if piece.written:
                ctypes.memmove(piece.address, self.base + piece.offset, piece.size)

    def unmap(self) -> None:
        """Let go of the mapping."""
        self._hold = None
        if self._map is not None:
            self._map.close()
            self._map = None

    def close(self) -> None:
        """Give the memory back."""
        self.unmap()
        with contextlib.suppress(OSError):
            os.close(self.fd)


def mapped(fd: int, size: int) -> tuple[mmap.mmap, ctypes.c_char, int]:
    """Map `fd`: the mapping, what holds its address in place, and the address."""
    memory = mmap.mmap(fd, size)
    hold = ctypes.c_char.from_buffer(memory)
    return memory, hold, ctypes.addressof(hold)


_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_memcmp.restype = ctypes.c_int
