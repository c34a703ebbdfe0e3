"""What a compiled kernel takes of the machine, read from the binary: no GPU is needed.

Sources: "CUDA Binary Utilities" (what `cuobjdump --dump-resource-usage` prints) and LLVM's "User
Guide for AMDGPU Backend", code object metadata.
"""

from __future__ import annotations

import re
import struct

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION_SYMTAB = 2
# Attributes of `.nv.info`: each is (format u8, attribute u8, size u16) and, under format 4, `size`
# bytes: here a symbol's index and a number.
_REGISTERS = 0x2F
_FRAME = 0x11
_SIZED = 4


def of_cubin(binary: bytes, kernel: str, assembly: str) -> tuple[int, int]:
    """Registers per thread, and spilled 32-bit words per thread, of a kernel in a cubin.

    Spills are what its stack frame holds beyond the local arrays that the PTX itself asks for.

    Raises:
        ValueError: The cubin doesn't hold that kernel.
    """
    sections = _sections(binary)
    symbol = _symbol(binary, sections, kernel)
    registers = _attribute(binary, sections, symbol, _REGISTERS)
    if registers is None:
        raise ValueError(f"no register count for {kernel!r} in the cubin")
    frame = _attribute(binary, sections, symbol, _FRAME) or 0
    depots = re.findall(r"\.local\s+\.align\s+\d+\s+\.b8\s+\w+\[(\d+)\]", assembly)
    wanted = sum(-(-int(size) // 8) * 8 for size in depots)
    return registers, max(0, frame - wanted) // 4


def of_amdgcn(assembly: str) -> tuple[int, int]:
    """Vector registers per lane, and spilled registers, that the assembly's metadata states.

    Raises:
        ValueError: It states none.
    """

    def stated(name: str) -> int:
        found = re.search(rf"^\s*(?:- )?\.{name}:\s*(\d+)", assembly, re.MULTILINE)
        if found is None:
            raise ValueError(f"no {name} in the assembly's metadata")
        return int(found[1])

    spills = stated("vgpr_spill_count") + stated("sgpr_spill_count")
    return stated("vgpr_count"), spills


def ptx_parameters(assembly: str, kernel: str) -> int:
    """How many parameters the PTX entry `kernel` takes, the compiler's own ones included.

    Raises:
        ValueError: There is no such entry.
    """
    entry = re.search(rf"\.entry\s+{re.escape(kernel)}\s*\((.*?)\)", assembly, re.DOTALL)
    if entry is None:
        raise ValueError(f"no entry {kernel!r} in the PTX")
    return len(re.findall(r"\.param\b", entry[1]))


def _sections(binary: bytes) -> list[tuple[str, tuple]]:
    if binary[:5] != b"\x7fELF\x02":
        raise ValueError("not a 64-bit ELF file")
    (table,) = struct.unpack_from("<Q", binary, 40)
    size, count, names = struct.unpack_from("<HHH", binary, 58)
    headers = [_SECTION.unpack_from(binary, table + size * i) for i in range(count)]
    strings = headers[names][4]
    return [(_text(binary, strings + header[0]), header) for header in headers]


def _symbol(binary: bytes, sections: list[tuple[str, tuple]], name: str) -> int:
    for _, header in sections:
        if header[1] != _SECTION_SYMTAB:
            continue
        strings = sections[header[6]][1][4]
        for index in range(header[5] // _SYMBOL.size):
            entry = _SYMBOL.unpack_from(binary, header[4] + index * _SYMBOL.size)
            if _text(binary, strings + entry[0]) == name:
                return index
    raise ValueError(f"no symbol {name!r} in the cubin")


def _attribute(
    binary: bytes, sections: list[tuple[str, tuple]], symbol: int, attribute: int
) -> int | None:
    for name, header in sections:
        if name != ".nv.info":
            continue
        at, end = header[4], header[4] + header[5]
        while at + 4 <= end:
            form, kind, size = struct.unpack_from("<BBH", binary, at)
            at += 4
            if form != _SIZED:
                continue
            if kind == attribute and size >= 8:
                whose, value = struct.unpack_from("<II", binary, at)
                if whose == symbol:
                    return value
            at += size
    return None


def _text(binary: bytes, at: int) -> str:
    return binary[at : binary.index(b"\0", at)].decode()
