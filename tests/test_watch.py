"""The dashboard and the alarms watch what there is. That the doors emit it, tests/whole/test_canaries.py sees."""

import json
import re
from typing import Any, get_args

import pytest

from infra.local.intrinsics import Intrinsics, read_yaml
from infra.local.template import read_template
from mcpist.batch.ledger.records import Status
from mcpist.errors import InternalError
from mcpist.telemetry import metrics
from mcpist.telemetry.metrics import Metric
from tests import watch

METRICS = [value for value in vars(metrics).values() if isinstance(value, Metric)]
OWN = {metric.name: metric for metric in METRICS}
NAMESPACE = next(iter(watch.template().functions)).environment["POWERTOOLS_METRICS_NAMESPACE"]
LAMBDAS = {
    "EndpointErrorsAlarm": "McpEndpoint",
    "RestApiErrorsAlarm": "RestApi",
    "ConsoleErrorsAlarm": "Console",
    "LoginErrorsAlarm": "Login",
    "JanitorErrorsAlarm": "Janitor",
    "ProgramRunnerErrorsAlarm": "ProgramRunner",
    "EventsErrorsAlarm": "Events",
    "BrokerErrorsAlarm": "TokenBroker",
    "BrokerThrottlesAlarm": "TokenBroker",
}
PAGE = (watch.ROOT / "docs/observability.md").read_text("utf-8")


def own() -> list[watch.WatchedMetric]:
    return [one for one in (*watch.alarmed().values(), *watch.shown()) if one.namespace == NAMESPACE]


def test_the_nested_stack_is_given_all_that_it_asks_for() -> None:
    template, nested = read_yaml(watch.ROOT / "template.yaml"), read_yaml(watch.PATH)
    stack = template["Resources"]["Watch"]
    assert stack["Type"] == "AWS::CloudFormation::Stack"
    assert (watch.ROOT / stack["Properties"]["TemplateURL"]).samefile(watch.PATH)
    assert set(stack["Properties"]["Parameters"]) == set(nested["Parameters"])
    assert template["Parameters"]["AlarmEmail"]["Default"] == ""


@pytest.mark.parametrize(
    ("alarms", "dashboard", "kinds"),
    [
        ("off", "off", set()),
        ("on", "off", {"AWS::CloudWatch::Alarm"}),
        ("off", "on", {"AWS::CloudWatch::Dashboard"}),
        ("on", "on", {"AWS::CloudWatch::Alarm", "AWS::CloudWatch::Dashboard"}),
    ],
)
def test_alarms_and_dashboard_are_switched_one_by_one(alarms: str, dashboard: str, kinds: set[str]) -> None:
    """A refusal of one must not stop a deployment, and each is billed."""
    given = {"OwnLogin": "off", "Alarms": alarms, "Dashboard": dashboard}
    assert read_template(watch.ROOT / "template.yaml", given).intrinsics.holds("Watches") is bool(kinds)
    raw = read_yaml(watch.PATH)
    nested = Intrinsics({"AlarmEmail": "", **given}, raw["Conditions"], lambda name: name, lambda *_: "")
    made = {one["Type"] for one in raw["Resources"].values() if nested.holds(one["Condition"])}
    assert made == kinds


def test_what_is_watched_of_our_own_is_in_the_table_with_its_dimension_and_a_statistic_that_fits() -> None:
    assert len(own()) > len(METRICS)
    for one in own():
        metric = OWN[one.name]
        assert {name for name, _ in one.dimensions} == {"service", *filter(None, [metric.dimension])}
        assert ("service", "mcpist") in one.dimensions or ("service", "*") in one.dimensions
        assert re.fullmatch(r"p\d\d" if metric.unit == "Milliseconds" else "Sum", one.statistic)


def test_every_metric_is_on_the_dashboard_and_steps_by_every_outcome() -> None:
    assert {one.name for one in watch.shown() if one.namespace == NAMESPACE} == set(OWN)
    outcomes = {value for one in own() for name, value in one.dimensions if name == "outcome"}
    assert outcomes == set(get_args(Status.__value__))


def test_the_alarm_on_defects_watches_the_code_that_they_are_answered_with() -> None:
    assert ("code", InternalError.code) in watch.alarmed()["DefectsAlarm"].dimensions


def test_other_namespaces_are_the_stacks_own_resources() -> None:
    template = watch.template()
    names = {function.name for function in template.functions}
    on = {("AWS/Lambda", "FunctionName"): names, ("AWS/DynamoDB", "TableName"): {one.name for one in template.tables}}
    seen: dict[tuple[str, str], set[str]] = {}
    for one in watch.shown():
        for name, value in one.dimensions:
            seen.setdefault((one.namespace, name), set()).add(value)
    assert {key: seen[key] for key in on} == on
    assert seen["AWS/States", "StateMachineArn"] == {"*"}
    assert {one.name for one in watch.shown() if one.namespace == "AWS/Lambda"} == {
        "ConcurrentExecutions",
        "Duration",
        "Errors",
        "Invocations",
        "Throttles",
    }
    doors = {one.id.removesuffix("Function"): one.name for one in template.functions}
    for id_, door in LAMBDAS.items():
        assert watch.alarmed()[id_].dimensions == {("FunctionName", doors[door])}


def test_every_door_that_dies_is_told_of_but_the_step_runner_whose_errors_are_no_failures() -> None:
    doors = {one.id.removesuffix("Function") for one in watch.template().functions}
    assert {door for id_, door in LAMBDAS.items() if id_.endswith("ErrorsAlarm")} == doors - {"StepRunner"}


def test_machines_are_searched_for_by_what_their_names_begin_with() -> None:
    body = watch.document()["OwnDashboard"]["Properties"]["DashboardBody"]
    stack = next(iter(watch.template().functions)).environment["STACK_NAME"]
    assert body.count(f"StateMachineArn={stack}'") == 3


def test_an_alarm_begins_with_what_it_says_and_ends_by_itself() -> None:
    for alarm in watch.alarms().values():
        assert alarm["TreatMissingData"] == "notBreaching"
        assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
        assert alarm["AlarmActions"] == alarm["OKActions"] == ["AlarmTopic"]


@pytest.mark.parametrize(
    ("objective", "values", "burn"),
    [
        ("Availability", {"ran": 1_000, "failed": 10, "throttled": 0}, 10),
        ("Availability", {"ran": 900, "failed": None, "throttled": 100}, 100),
        ("Availability", {"ran": 19, "failed": 19, "throttled": 0}, 0),
        ("Latency", {"ran": 100, "slow": 50}, 10),
        ("Latency", {"ran": 19, "slow": 100}, 0),
    ],
)
def test_a_budget_is_spent_so_many_times_faster_than_allowed(
    objective: str, values: dict[str, int | None], burn: int
) -> None:
    """Each window computes the same, and the dashboard too, but for the windows with few requests."""
    of_dashboard = json.loads(watch.document()["OwnDashboard"]["Properties"]["DashboardBody"])["widgets"][-1]
    widget = {row[0]["id"]: row[0]["expression"] for row in of_dashboard["properties"]["metrics"] if len(row) == 1}
    expressions = {one["Metrics"][0]["Expression"] for id_, one in watch.windows().items() if id_.startswith(objective)}
    (expression,) = expressions
    names: dict[str, Any] = {"__builtins__": {}, "IF": lambda test, then, other: then if test else other}
    names["FILL"] = lambda metric, value: value if metric is None else metric
    assert eval(expression, names, values) == pytest.approx(burn)  # noqa: S307 - an expression of our own template
    assert not burn or eval(widget[objective.lower()], names, values) == pytest.approx(burn)  # noqa: S307


def test_an_objective_has_four_windows_and_somebody_is_told_of_two_at_a_time() -> None:
    periods = {}
    for id_, alarm in watch.windows().items():
        assert (alarm["TreatMissingData"], "AlarmActions" in alarm) == ("notBreaching", False)
        stats = [one["MetricStat"] for one in alarm["Metrics"][1:]]
        assert {name for one in stats for name in (one["Metric"]["Dimensions"][0]["Value"],)} == {
            one.name for one in watch.template().functions if one.id == "McpEndpointFunction"
        }
        ((periods[id_]),) = {one["Period"] for one in stats}  # CloudWatch computes with one period alone
    by_burn = {burn: [id_ for id_, one in watch.windows().items() if one["Threshold"] == burn] for burn in (14.4, 6)}
    for name, burn, factor in (("FastBurn", 14.4, 12), ("SlowBurn", 6, 12)):
        rule = watch.burns()[name]["AlarmRule"]
        pairs = re.findall(r'\(ALARM\("(\w+)"\) AND ALARM\("(\w+)"\)\)', rule)
        assert sorted(id_ for pair in pairs for id_ in pair) == sorted(by_burn[burn])
        assert all(periods[long] == factor * periods[short] for short, long in pairs)
        assert watch.burns()[name]["AlarmActions"] == ["AlarmTopic"]


def test_nobody_is_told_unless_an_address_is_given() -> None:
    raw = read_yaml(watch.PATH)
    addressed = {"Fn::Not": [{"Fn::Equals": [{"Ref": "AlarmEmail"}, ""]}]}
    assert raw["Conditions"]["Tells"] == {"Fn::And": [{"Condition": "HasAlarms"}, addressed]}
    assert raw["Resources"]["AlarmTopic"]["Condition"] == raw["Resources"]["AlarmsByEmail"]["Condition"] == "Tells"
    for one in raw["Resources"].values():
        if "Alarm" in one["Type"] and one["Condition"] != "HasServiceLevels":
            tells: Any = {"Fn::If": ["Tells", [{"Ref": "AlarmTopic"}], {"Ref": "AWS::NoValue"}]}
            assert one["Properties"]["AlarmActions"] == one["Properties"]["OKActions"] == tells


def test_no_two_widgets_lie_on_each_other() -> None:
    body = json.loads(watch.document()["OwnDashboard"]["Properties"]["DashboardBody"])
    places = [(widget["x"], widget["y"]) for widget in body["widgets"]]
    assert len(set(places)) == len(places)
    assert all(x % 8 == 0 and y % 6 == 0 and x < 24 for x, y in places)


# -- the page -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_the_page_tells_each_metric(metric: Metric) -> None:
    by = f"`{metric.dimension}`" if metric.dimension else ""
    assert f"| `{metric.name}` | {metric.unit} | {by} | {metric.description} |\n" in PAGE


def test_the_page_tells_no_other_metric_and_each_alarm() -> None:
    told = re.findall(r"(?m)^\| `([A-Z]\w+)` \|", PAGE)
    assert [name for name in told if not name.endswith("Alarm")] == list(OWN)
    assert [name for name in told if name.endswith("Alarm")] == list(watch.alarms())
