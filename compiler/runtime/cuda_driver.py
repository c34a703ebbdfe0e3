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


@functools.cache
def primary_context(device: int) -> int:
    """The context that CUDA's runtime, and so PyTorch, uses on a device; it is kept.

    Raises:
        CudaDriverError: There is no such device.
    """
    driver = library()
    number, context = ctypes.c_int(), ctypes.c_void_p()
    check(driver.cuInit(0))
    check(driver.cuDeviceGet(ctypes.byref(number), device))
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), number))
    if not context.value:
        raise CudaDriverError(f"no context on device {device}")
    return context.value


def make_current(context: int) -> None:
    """Make a context the calling thread's: one that never spoke to CUDA's runtime has none.

    Raises:
        CudaDriverError: The context is gone.
    """
    driver = library()
    current = ctypes.c_void_p()
    check(driver.cuCtxGetCurrent(ctypes.byref(current)))
    if current.value != context:
        check(driver.cuCtxSetCurrent(ctypes.c_void_p(context)))


def load_function(binary: bytes, name: str, shared: int, device: int) -> int:
    """A cubin's function, ready to launch in the device's primary context; it stays loaded.

    Raises:
        CudaDriverError: The cubin isn't for this device, or needs more shared memory than it has.
    """
    driver = library()
    make_current(primary_context(device))
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
