"""infra/watch.yaml as CloudFormation would make it for a stack: its alarms, and the metrics on its dashboard."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from infra.local.intrinsics import Intrinsics, read_yaml
from infra.local.template import Template, read_template

ROOT = Path(__file__).parents[1]
PATH = ROOT / "infra/watch.yaml"
_SEARCH = re.compile(r'SEARCH\(\'\{"?([^",}]+)"?,([\w,]+)\} MetricName="(\w+)"[^\']*\', \'(\w+)\'')


@dataclass(frozen=True)
class WatchedMetric:
    """A metric that somebody looks at; the value of a dimension is `*` where all are searched for."""

    namespace: str
    name: str
    dimensions: frozenset[tuple[str, str]]
    statistic: str


@cache
def template() -> Template:
    return read_template(ROOT / "template.yaml", {"Issuer": "https://login.example.com", "LoginClientId": "mcpist"})


@cache
def document() -> dict[str, Any]:
    """The nested stack with its intrinsics resolved, with what the stack gives it and somebody to tell."""
    raw = read_yaml(PATH)
    nested = read_yaml(ROOT / "template.yaml")["Resources"]["Watch"]["Properties"]["Parameters"]
    parameters = template().intrinsics.resolve(nested) | {
        "AlarmEmail": "ops@example.com",
        "Dashboard": "on",
        "ServiceLevels": "on",
    }
    pseudo = {"AWS::Region": "eu-west-1"}
    intrinsics = Intrinsics(parameters, raw["Conditions"], lambda name: pseudo.get(name, name), lambda *_: "")
    resolved: dict[str, Any] = intrinsics.resolve(raw["Resources"])
    return resolved


def alarms() -> dict[str, dict[str, Any]]:
    """The properties of the alarms that watch one metric, by their ids."""
    return {id_: one for id_, one in _of_type("Alarm").items() if "MetricName" in one}


def windows() -> dict[str, dict[str, Any]]:
    """The properties of the alarms that watch one window of an objective."""
    return {id_: one for id_, one in _of_type("Alarm").items() if "MetricName" not in one}


def burns() -> dict[str, dict[str, Any]]:
    """The properties of the alarms on two windows of each objective."""
    return _of_type("CompositeAlarm")


def _of_type(type_: str) -> dict[str, dict[str, Any]]:
    return {id_: one["Properties"] for id_, one in document().items() if one["Type"] == f"AWS::CloudWatch::{type_}"}


def alarmed() -> dict[str, WatchedMetric]:
    return {
        id_: WatchedMetric(
            alarm["Namespace"],
            alarm["MetricName"],
            frozenset((one["Name"], one["Value"]) for one in alarm["Dimensions"]),
            alarm.get("Statistic") or alarm["ExtendedStatistic"],
        )
        for id_, alarm in alarms().items()
    }


def shown() -> list[WatchedMetric]:
    """All that the dashboard shows."""
    body = json.loads(document()["OwnDashboard"]["Properties"]["DashboardBody"])
    rows = [row for widget in body["widgets"] for row in widget["properties"]["metrics"]]
    return [watched for row in rows for watched in _watched(row)]


def _watched(row: list[Any]) -> Iterator[WatchedMetric]:
    if isinstance(row[0], dict):
        found = _SEARCH.findall(row[0]["expression"])
        assert found or "SEARCH" not in row[0]["expression"], row
        for namespace, names, metric, statistic in found:
            yield WatchedMetric(namespace, metric, frozenset((name, "*") for name in names.split(",")), statistic)
        return
    namespace, metric, *dimensions, options = row
    pairs = frozenset(zip(dimensions[::2], dimensions[1::2], strict=True))
    yield WatchedMetric(namespace, metric, pairs, options["stat"])
