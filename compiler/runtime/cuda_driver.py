"""The few calls of the CUDA driver that loading and launching a kernel takes, by ctypes.

Source: NVIDIA's "CUDA Driver API", Module Management and Execution Control.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

_MAX_SHARED_OPTIN = 97  # CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_WITHOUT_ASKING = 48 * 1024


class CudaDriverError(RuntimeError):
    """The driver answered with an error."""


@functools.cache
def library() -> Any:
    """The driver's library. It keeps the interpreter lock: a launch is shorter than its release.

    Raises:
        OSError: There is no NVIDIA driver.
    """
    driver = ctypes.PyDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    size, pointer = ctypes.c_uint, ctypes.c_void_p
    driver.cuLaunchKernel.argtypes = [pointer, *[size] * 7, pointer, pointer, pointer]
    return driver


def check(code: int) -> None:
    """Raise for a driver's code that isn't success.

    Raises:
        CudaDriverError: With the driver's own words.
    """
    if code:
        text = ctypes.c_char_p()
        library().cuGetErrorString(code, ctypes.byref(text))
        said = text.value.decode() if text.value else "unknown error"
        raise CudaDriverError(f"CUDA driver error {code}: {said}")


def load_function(binary: bytes, name: str, shared: int, device: int) -> int:
    """A cubin's function, ready to launch in the current context; it stays loaded.

    Raises:
        CudaDriverError: The cubin isn't for this device, or needs more shared memory than it has.
    """
    driver = library()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(driver.cuModuleLoadData(ctypes.byref(module), binary))
    check(driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    if shared > _WITHOUT_ASKING:
        most = ctypes.c_int()
        check(driver.cuDeviceGetAttribute(ctypes.byref(most), _MAX_SHARED_OPTIN, device))
        if shared > most.value:
            raise CudaDriverError(
                f"{name} needs {shared} bytes of shared memory, the device has {most.value}"
            )
        check(driver.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, shared))
    if not function.value:
        raise CudaDriverError(f"no function {name} in the cubin")
    return function.value
