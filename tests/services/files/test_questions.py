"""A hundred questions about ten large results, asked of files."""

import json

import pytest

from mcpist.files import access
from mcpist.files.answers import describe_file
from mcpist.files.content import FileContent
from mcpist.render.answer import compact
from mcpist.tools.declare.call import PartialList
from mcpist_services.files.tools import files
from tests.core.files.callers import UMA
from tests.services.files.questions import Result, results
from tests.services.files.test_tools import call

pytestmark = pytest.mark.usefixtures("aws")


@pytest.mark.parametrize("result", list(results(size=96)), ids=lambda result: result.content_type)
def test_files_answer_as_somebody_who_reads_all_of_them(result: Result) -> None:
    file = access.put(UMA, result.content, result.content_type)
    assert len(result.questions) == 10
    for question in result.questions:
        found = call(question.tool, path=file.path, **question.arguments)
        answer = found.json if isinstance(found, PartialList) else found
        assert (answer["content"] if question.tool == "read" else answer) == question.expected, question


@pytest.mark.slow
def test_the_questions_cost_a_small_part_of_the_results() -> None:
    inline = asking = 0
    for result in results():
        inline += len(result.content)
        asking += len(describe_file(UMA, FileContent(result.content, result.content_type))[0])
        path = access.put(UMA, result.content, result.content_type).path
        for question in result.questions:
            found = call(question.tool, path=path, **question.arguments)
            answer = found.json if isinstance(found, PartialList) else found
            asking += len(json.dumps(question.arguments)) + len(path)
            asking += len(compact(answer, files.tools[question.tool].shows))
    assert asking < inline / 10
