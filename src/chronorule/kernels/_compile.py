"""The one place that names the compiler, so that another could take its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

# no_cfunc_wrapper: nothing calls our kernels from C, and leaving the entry out saves a quarter of the compile time
OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def compiled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compile at first call, keep the machine code on disk, and release the interpreter's lock while running."""
    return cast("Callable[Parameters, Result]", numba.njit(**OPTIONS)(function))
