"""The skills in the services' folders: each of their batches is planned, and run against the vendors' descriptions."""

import json
import re
from pathlib import Path

import mcpist_services
from mcpist_services.skills import FILE, deployed
from tests.faults import for_each
from tests.services.chains import Chain, Run
from tests.services.contracts import needs_descriptions

SKILLS = {skill.uri: skill for skill in deployed()}
BATCHES = {
    f"{uri}: {lines.splitlines()[0]}": Chain(uri, [json.loads(line) for line in lines.splitlines()])
    for uri, skill in SKILLS.items()
    for lines in re.findall(r"```jsonl\n(.*?)```", skill.files[FILE], re.DOTALL)
}


def test_each_skill_has_three_batches_and_every_skill_file_is_one() -> None:
    files = [*Path(mcpist_services.__file__).parent.glob(f"*/{FILE}")]
    assert len(files) == len(SKILLS) >= 3
    counts = {uri: sum(one.startswith(uri) for one in BATCHES) for uri in SKILLS}
    assert set(counts.values()) == {3}
    for skill in SKILLS.values():
        assert set(skill.modules) <= set(mcpist_services.NAMES)


@needs_descriptions
@for_each("batch", BATCHES)
def test_a_batch_of_a_skill_is_planned_and_keeps_the_contracts(batch: Chain) -> None:
    assert batch.services <= set(SKILLS[batch.task].modules)
    assert set(Run.of(batch).results) == {step["id"] for step in batch.steps}
