"""docs/security.md promises nothing without a test."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
TEMPLATE = (TESTS.parent / "template.yaml").read_text("utf-8")
PAGE = (TESTS.parent / "docs/security.md").read_text("utf-8")
ROWS = re.findall(r"(?m)^\| (.+) \| `([\w/]+\.py)::(test_\w+)` \|$", PAGE)


def test_every_promise_names_its_test() -> None:
    table = PAGE.partition("| promise | test |")[2].partition("\n\n")[0].strip().splitlines()[1:]
    assert len(table) == len(ROWS) > 40


@pytest.mark.parametrize(("promise", "file", "name"), ROWS)
def test_the_test_of_a_promise_exists(promise: str, file: str, name: str) -> None:
    assert re.search(rf"(?m)^def {name}\(", (TESTS / file).read_text("utf-8")), promise


@pytest.mark.parametrize("metric", ["IntegrityFailures", "AuditRowsLost"])
def test_the_alarm_watches_what_the_vault_counts(metric: str) -> None:
    """The names are what `test_vault.py` and `test_refresh.py` see printed; powertools takes the rest from outside."""
    alarm = TEMPLATE.partition(f"  {metric}Alarm:\n")[2].partition("\n\n")[0]
    (namespace,) = re.findall(r"POWERTOOLS_METRICS_NAMESPACE: (\w+)", TEMPLATE)
    (service,) = re.findall(r"POWERTOOLS_SERVICE_NAME: (\w+)", TEMPLATE)
    assert f"Namespace: {namespace}\n" in alarm
    assert f"MetricName: {metric}\n" in alarm
    assert f"Dimensions: [{{Name: service, Value: {service}}}]\n" in alarm
