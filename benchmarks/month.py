"""The price of a month in which nobody uses the stack, by the template's switches, and of what is kept of use."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.prices import Usage, dollar_text, dollars, prices
from benchmarks.report import table
from benchmarks.usage import size
from infra.local.intrinsics import Intrinsics, read_yaml
from infra.local.template import Key, Template, read_template
from infra.source import ROOT
from mcpist.audit.record import new_row
from mcpist.aws.attributes import Item, serialize

MONTH_SECONDS = 30 * 24 * 3600
DAYS_OF_A_MONTH = 30
BILLED_ROTATIONS = 2  # of a key; later ones cost nothing more
INDEX_OVERHEAD_BYTES = 100  # of each item, in the table and in each index
# Five functions with a snapshot each, eleven alarms, a dashboard: the defaults until 2026-11-22.
FORMER: Usage = {"snapshot_gb_second": 5 * MONTH_SECONDS, "kms_key_month": 2, "alarm_month": 11, "dashboard_month": 1}
OFF = {"SnapStart": "off", "Alarms": "off"}
YEARLY = {"KeyRotationDays": "365"}
ON = {"SnapStart": "all", "Dashboard": "on", "ServiceLevels": "on", "AuditExport": "acme-siem"}


def month_page() -> str:
    """Return the tables of an idle month, of audit rows and of the prices, for docs/costs.md."""
    return "\n".join((month_table(), audit_table(), price_table()))


def month_table() -> str:
    """Return the table of the costs of a month without requests, for several choices of the owner."""
    columns = {
        "before 2026-11-22": FORMER,
        "**by default**": usage({}),
        "by default, from the third year on": usage({}, years=3),
        "by default, from the 15th year on": usage({}, years=15),
        "from the third year on (`KeyRotationDays=365`)": usage(YEARLY, years=3),
        "least (`SnapStart=off Alarms=off`)": usage(OFF),
        "most (`SnapStart=all Dashboard=on ServiceLevels=on AuditExport=...`)": usage(ON),
    }
    costs = [dollars(one) for one in columns.values()]
    keys = [key for key in prices() if any(one.get(key) for one in costs)]
    rows = [[prices()[key].name, *(dollar_text(one.get(key, 0)) for one in costs)] for key in keys]
    total = ["**together**", *(f"**{dollar_text(sum(one.values()))}**" for one in costs)]
    return table(["dollars of an idle month", *columns], [*rows, total])


def usage(parameters: Mapping[str, str], *, years: int = 0) -> Usage:
    """Return what a stack with these parameters is billed for in a month without requests, after some years."""
    template = read(parameters)
    watched = list(_watched(template))
    return {
        "snapshot_gb_second": MONTH_SECONDS * sum(one.memory_mb / 1024 for one in template.functions if one.snap_start),
        "kms_key_month": sum(1 + _billed_rotations(key, years) for key in template.keys),
        # An alarm on an expression is billed for each of its metrics.
        "alarm_month": sum(
            len(one["Properties"].get("Metrics", [0, 0])) - 1
            for one in watched
            if one["Type"] == "AWS::CloudWatch::Alarm"
        ),
        "composite_alarm_month": sum(one["Type"] == "AWS::CloudWatch::CompositeAlarm" for one in watched),
        "dashboard_month": sum(one["Type"] == "AWS::CloudWatch::Dashboard" for one in watched),
    }


def _billed_rotations(key: Key, years: int) -> int:
    """Return the rotations of a key in so many years that are billed like keys."""
    return min(BILLED_ROTATIONS, years * 365 // key.rotation_days) if key.rotation_days else 0


def _watched(template: Template) -> Iterator[Mapping[str, Any]]:
    """Yield the alarms and the dashboard that the nested stack has with the template's parameters."""
    nested = read_yaml(ROOT / "infra/watch.yaml")
    stack = read_yaml(ROOT / "template.yaml")["Resources"]["Watch"]
    given = template.intrinsics.resolve(stack["Properties"]["Parameters"])
    intrinsics = Intrinsics(given, nested["Conditions"], str, lambda *_: "")
    if template.intrinsics.holds(stack["Condition"]):
        yield from (one for one in nested["Resources"].values() if intrinsics.holds(one["Condition"]))


def audit_table() -> str:
    """Return the table of what a million audit rows cost until they expire: the row in its table and each index."""
    template = read({})
    days = int(template.intrinsics.parameters["AuditDays"])
    (audit,) = [one for one in template.tables if one.id == "Audit"]
    row = typical_row()
    indexes = [index["KeySchema"][0]["AttributeName"] for index in audit.definition.get("GlobalSecondaryIndexes", [])]
    copies = 1 + sum(key in row for key in indexes)
    each = size(serialize(row)) + INDEX_OVERHEAD_BYTES
    months = days / DAYS_OF_A_MONTH
    kept: Usage = {
        "dynamodb_gb_month": 1_000_000 * each * copies / 2**30 * months,
        "pitr_gb_month": 1_000_000 * each / 2**30 * months,
    }
    rows = [[prices()[key].name, f"{kept[key]:.2f}", dollar_text(cost)] for key, cost in dollars(kept).items()]
    head = f"1,000,000 audit rows of {each} bytes, kept {days} days"
    return table([head, "GB-months", "dollars"], rows)


def price_table() -> str:
    """Return the table of the prices and their sources."""
    rows = []
    for price in prices().values():
        source = f"[{price.source.split('/')[2]}]({price.source})"
        seen = price.seen.isoformat() if price.seen else "none"
        rows.append(
            [price.name, f"${price.dollars:.10f}".rstrip("0").rstrip("."), f"{price.per:,}", price.unit, source, seen]
        )
    return table(["price", "dollars", "for", "unit", "source", "its date"], rows)


def read(parameters: Mapping[str, str]) -> Template:
    """Return the template with other parameters, as a stack with the user pool has it but for the pool's own stack."""
    # The user pool is billed by its active users, so an idle one costs nothing.
    login = {"Issuer": "https://login.example.com", "LoginClientId": "mcpist"}
    return read_template(ROOT / "template.yaml", {**login, **parameters})


def typical_row() -> Item:
    """Return the row of a call, with names of usual lengths."""
    return new_row(
        organization="acme",
        user="ada.lovelace",
        roles=["engineering"],
        event="use",
        service="github",
        account="octocat (583231)",
        tool="github.search_issues",
        outcome="succeeded",
        request="c6af9ac6-7b61-11e6-9a41-93e8deadbeef",
    )
