"""The metrics that stand in what a function has printed, as CloudWatch would read them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class EmittedMetric:
    """One value of one metric."""

    namespace: str
    name: str
    unit: str
    dimensions: frozenset[tuple[str, str]]
    value: float
    correlation: str


def documents(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects at the beginnings of lines; sandboxes share a file, so that two may stand in one."""
    for line in text.splitlines():
        rest = line
        while rest.startswith("{"):
            try:
                found, end = json.JSONDecoder().raw_decode(rest)
            except ValueError:  # somebody's repr
                break
            yield found
            rest = rest[end:]


def seen(text: str) -> list[EmittedMetric]:
    """Every value in every line of the embedded metric format."""
    return [
        EmittedMetric(
            namespace=directive["Namespace"],
            name=metric["Name"],
            unit=metric["Unit"],
            dimensions=frozenset((name, line[name]) for name in names),
            value=sum(line[metric["Name"]]),
            correlation=line["correlation_id"],
        )
        for line in documents(text)
        if "_aws" in line
        for directive in line["_aws"]["CloudWatchMetrics"]
        for names in directive["Dimensions"]
        for metric in directive["Metrics"]
    ]
