"""One test over many cases, which reports the faults of all of them: each test by itself costs 6 ms."""

import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

# A defect of the code itself, which is no fault of one case; tests/mutations tells the two apart.
DEFECTS = (NameError, ImportError, SyntaxError)
MAX_REPR_CHARACTERS = 100

type Test = Callable[..., None]


def for_each(names: str | tuple[str, ...], cases: Mapping[str, Any] | Iterable[Any]) -> Callable[[Test], Test]:
    """Do for all cases in one test what `pytest.mark.parametrize` does in one test each.

    Fixtures are made once, so that a case must leave nothing behind that the next one would meet.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    by_name = cases if isinstance(cases, Mapping) else _named(list(cases))
    assert by_name, "a test without cases proves nothing"

    def decorate(check: Test) -> Test:
        @wraps(check)
        def test(**fixtures: Any) -> None:
            faults: dict[str, BaseException] = {}
            for name, case in by_name.items():
                values = [case] if len(arguments) == 1 else case
                try:
                    check(**fixtures, **dict(zip(arguments, values, strict=True)))
                except DEFECTS:
                    raise
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - a test may fail by any error
                    faults[name] = error
            if faults:
                raise AssertionError(_report(faults, len(by_name))) from next(iter(faults.values()))

        wanted = signature(check)
        missing = set(arguments) - set(wanted.parameters)
        assert not missing, f"{check.__name__} takes no {missing}"
        left = [parameter for name, parameter in wanted.parameters.items() if name not in arguments]
        test.__signature__ = wanted.replace(parameters=left)  # what pytest asks for the fixtures
        return test

    return decorate


def _report(faults: Mapping[str, BaseException], cases: int) -> str:
    names: dict[str, list[str]] = defaultdict(list)  # what fails alike is said once
    for name, error in faults.items():
        names[f"({_place(error)}): {_message(error)}"].append(name)
    return "\n".join([f"{len(faults)} of {cases} cases fail:", *(f"{', '.join(names[one])} {one}" for one in names)])


def _place(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


def _message(error: BaseException) -> str:
    text = str(error)
    return text if text and isinstance(error, AssertionError) else f"{type(error).__name__}: {text}".removesuffix(": ")


def _named(cases: Sequence[Any]) -> dict[str, Any]:
    by_name = {_described(number, case): case for number, case in enumerate(cases, 1)}
    assert len(by_name) == len(cases), "two cases have the same name"
    return by_name


def _described(number: int, case: Any) -> str:
    text = case if isinstance(case, str) else repr(case)
    return text if len(text) <= MAX_REPR_CHARACTERS else f"{text[:MAX_REPR_CHARACTERS]}... (case {number})"
