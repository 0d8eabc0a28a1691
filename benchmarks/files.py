"""A hundred questions about ten large results: equal answers, and the tokens beside those of the whole results."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from benchmarks.report import Row
from infra.local.names import REGION
from mcpist.files import access
from mcpist.files.answers import describe_file
from mcpist.files.content import FileContent
from mcpist.memory import forget_all
from mcpist.render.answer import compact, compact_json
from mcpist.tools.declare.call import PartialList
from mcpist_services.files.store import FileStore
from mcpist_services.files.tools import files
from tests.conftest import build, template_of
from tests.core.files.callers import UMA
from tests.peers.tokens import o200k
from tests.services.files.questions import Question, results

MAX_SHARE = 0.1


def rows() -> Iterator[Row]:
    """Tokens of questions about files."""
    try:
        inline, previews, exchanges, equal, asked = _measure()
    except pytest.skip.Exception as absent:
        yield (rows.__doc__ or "").rstrip("."), f"not measured: {absent}", ""
        return
    asking = previews + exchanges
    yield f"{asked} questions about ten large results, asked of files: answers that are right", f"{equal}", f"{asked}"
    yield "tokens (o200k) of the ten results in the context", f"{inline:,}", ""
    yield "tokens of the ten previews", f"{previews:,}", ""
    yield f"tokens of the {asked} questions and their answers", f"{exchanges:,}", ""
    yield "tokens by files, against the results in the context", f"{asking / inline:.3f}", f"{MAX_SHARE}"


def _measure() -> tuple[int, int, int, int, int]:
    """Return the tokens of the results, of the previews, of questions with answers, and the equal and all answers."""
    wholes, previews, exchanges, equal = [], [], [], 0
    template = template_of("https://issuer.example.com")
    os.environ |= {name: value for function in template.functions for name, value in function.environment.items()}
    os.environ["AWS_DEFAULT_REGION"] = REGION
    with mock_aws():
        forget_all()
        build(template)
        for result in results():
            made = FileContent(result.content, result.content_type)
            path = access.put(UMA, made.content, made.content_type).path
            wholes.append(result.content.decode())
            previews.append(describe_file(UMA, made)[0])
            for question in result.questions:
                arguments = {"path": path, **question.arguments}
                answer, text = _ask(question, arguments)
                exchanges.append(compact_json({"module": "files", "tool": question.tool, "params": arguments}) + text)
                equal += answer == question.expected
    forget_all()
    counts = iter(o200k(*wholes, *previews, *exchanges))
    totals = [sum(next(counts) for _ in texts) for texts in (wholes, previews, exchanges)]
    return totals[0], totals[1], totals[2], equal, len(exchanges)


def _ask(question: Question, arguments: dict[str, Any]) -> tuple[Any, str]:
    """Return the answer to a question, and its text as the model reads it."""
    tool = files.tools[question.tool]
    work: Any = tool.describe_work(tool.validate(arguments))
    found = work.function(FileStore(UMA), **work.arguments)
    more = f"\n{found.more}" if isinstance(found, PartialList) else ""
    raw = found.json if isinstance(found, PartialList) else found
    return raw["content"] if question.tool == "read" else raw, compact(raw, tool.shows) + more


if __name__ == "__main__":
    print(json.dumps(list(rows()), indent=1))
