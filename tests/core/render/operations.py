"""A count of what a function does, which is the same on each machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def count_calls(function: Callable[[], object]) -> int:
    """Return how many functions and methods, built-in ones too, a function calls."""
    calls = 0

    def profile(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls
