"""GraphQL schemas as a source of imports: a field of a query or a mutation is a tool with fixed fields."""

import json
import sys
from typing import Any

import pytest
from graphql import build_schema, graphql_sync, introspection_from_schema, parse, validate

from mcpist.errors import InvalidRequest
from mcpist.render.shows import project
from mcpist.tools.declare.call import Call, ServiceResponse
from mcpist.tools.declare.dialect import RateLimited, Refusal, TokenRefused
from mcpist_services.described import description, graphql_schema
from mcpist_services.described.budget import ImportBudget
from mcpist_services.described.module import DescribedTool, module
from mcpist_services.described.overlay import Overlay, PagingRule
from mcpist_services.described.proposal import propose
from tests.faults import for_each
from tests.services.conversation import converse, work_of

SDL = '''
"""A tracker of issues."""
schema { query: Query, mutation: Mutation }
scalar DateTime
enum State { OPEN DONE }
interface Node { id: ID! }
type User implements Node { id: ID!, name: String!, apiKey: String, issues(first: Int!): IssueConnection! }
type Label { id: ID!, name: String, color: String }
type Issue implements Node {
  id: ID!, title: String!, state: State, createdAt: DateTime, oldField: String @deprecated
  assignee: User, labels: [Label!]!, comments(first: Int, after: String): IssueConnection, page(size: Int!): String
}
type PageInfo { hasNextPage: Boolean!, endCursor: String }
type IssueConnection { nodes: [Issue!]!, pageInfo: PageInfo! }
input IssueFilter { and: [IssueFilter!], title: String }
input IssueCreateInput { title: String!, state: State = OPEN, labelIds: [ID!] }
type IssuePayload { success: Boolean!, lastSyncId: Float!, issue: Issue, clientMutationId: String }
type DeletePayload { success: Boolean!, userErrors: [UserError!] }
type UserError { field: String, message: String }
union Found = Issue | User
type Query {
  "One issue."
  issue(id: String!): Issue
  "All issues, the newest first."
  issues(filter: IssueFilter, first: Int, after: String, last: Int, before: String): IssueConnection!
  viewer: User!
  searchAnything(term: String!): [Found!]!
}
type Mutation {
  "Creates an issue."
  issueCreate(input: IssueCreateInput!): IssuePayload!
  issueDelete(id: String!): DeletePayload!
}
'''
SERVER = "https://api.tracker.example"
ISSUE = {"id": "1", "title": "It burns", "assignee": {"id": "7", "name": "Ada"}, "labels": []}


def overlay_of(sdl: bytes = SDL.encode()) -> Overlay:
    return propose(description.parse(sdl), "tracker", server=SERVER)


TRACKER = module(overlay_of())


def tool_of(name: str) -> DescribedTool:
    tool = TRACKER.tools[name]
    assert isinstance(tool, DescribedTool)
    return tool


def test_the_fields_of_a_schema_become_tools_with_typed_variables() -> None:
    overlay = overlay_of()
    assert {name: (rule.operation, rule.effect) for name, rule in overlay.tools.items()} == {
        "get_issue": ("POST /graphql#getIssue", "reads"),
        "list_issues": ("POST /graphql#listIssues", "reads"),
        "get_viewer": ("POST /graphql#getViewer", "reads"),
        "search_anything": ("POST /graphql#searchAnything", "reads"),
        "create_issue": ("POST /graphql#createIssue", "writes"),
        "delete_issue": ("POST /graphql#deleteIssue", "destroys"),
    }
    listed, created = overlay.tools["list_issues"], overlay.tools["create_issue"]
    assert (listed.rows, listed.shows[:2]) == ("data.issues.nodes", ("id", "title"))
    assert listed.paging == PagingRule(
        kind="cursor", size="first", position=("after",), field="data.issues.pageInfo.endCursor",
        more="data.issues.pageInfo.hasNextPage",
    )  # fmt: skip
    assert list(listed.parameters) == ["filter"]
    assert created.parameters["input"].required
    assert overlay.schemas["IssueCreateInput"]["required"] == ["title"]
    assert "data.issueCreate.issue.id as id" in created.shows
    assert not [name for name in ("apiKey", "oldField", "page", "clientMutationId") if name in listed.document.split()]
    with pytest.raises(InvalidRequest):
        TRACKER.tools["create_issue"].validate({"input": {"title": 5, "state": "LOST"}})


def test_each_document_is_valid_and_its_answer_is_shown() -> None:
    schema = build_schema(SDL)
    root = {
        "issue": ISSUE,
        "issues": {"nodes": [ISSUE], "pageInfo": {"hasNextPage": False}},
        "viewer": {"id": "7", "name": "Ada", "apiKey": "canary"},
        "searchAnything": [{"__typename": "User", "id": "7", "name": "Ada"}],
        "issueCreate": {"success": True, "issue": ISSUE},
        "issueDelete": {"success": True, "userErrors": []},
    }
    schema.type_map["Found"].resolve_type = lambda value, *_: value["__typename"]  # type: ignore[attr-defined]
    variables = {"id": "1", "term": "a", "input": {"title": "It burns"}}
    for name, rule in overlay_of().tools.items():
        assert not validate(schema, parse(rule.document)), name
        answer = graphql_sync(schema, rule.document, root_value=root, variable_values=variables)
        assert not answer.errors, (name, answer.errors)
        shown = tool_of(name).masked({"data": answer.data})
        (row,) = project(shown, tool_of(name).shows)
        assert (row.get("id") in {"1", "7"}) or name == "delete_issue", (name, row)
        assert "canary" not in json.dumps(shown)


def test_an_introspection_gives_the_same_tools() -> None:
    found = overlay_of(json.dumps({"data": introspection_from_schema(build_schema(SDL))}).encode())
    assert found.tools == overlay_of().tools


def test_a_list_is_read_page_by_page_with_one_document() -> None:
    def page(number: int, *, more: bool) -> dict[str, Any]:
        info = {"hasNextPage": more, "endCursor": f"c{number}"}
        return {"data": {"issues": {"nodes": [{"id": number}], "pageInfo": info}}}

    work = work_of(TRACKER, "list_issues", filter={"title": "x"}, limit=2, page_size=1)
    sent, found = converse(work, page(1, more=True), page(2, more=False))
    document = tool_of("list_issues").rule.document
    assert [call.json for call in sent] == [
        {"query": document, "variables": {"filter": {"title": "x"}, "first": 1}},
        {"query": document, "variables": {"filter": {"title": "x"}, "first": 1, "after": "c1"}},
    ]
    assert found["data"]["issues"]["nodes"] == [{"id": 1}, {"id": 2}]
    assert work_of(TRACKER, "get_issue", id="1") == Call(
        "POST", "/graphql", json={"query": tool_of("get_issue").rule.document, "variables": {"id": "1"}}
    )


@for_each(
    ("body", "refusal"),
    [
        ({"errors": [{"message": "no such issue"}], "data": {"issue": None}}, Refusal(problem="no such issue")),
        ({"errors": [{"message": "slow", "extensions": {"code": "RATELIMITED"}}]}, RateLimited(problem="slow")),
        ({"errors": [{"message": "who", "extensions": {"type": "authentication error"}}]}, TokenRefused(problem="who")),
        ({"errors": [{"type": "RATE_LIMITED", "message": "cost"}], "data": None}, RateLimited(problem="cost")),
        ({"data": {"issueDelete": {"userErrors": [{"message": "it is locked"}]}}}, Refusal(problem="it is locked")),
        ({"errors": [{"message": "one field"}], "data": {"issue": {"id": "1"}}}, None),
        ({"data": {"issue": None}}, None),
        ([1], None),
    ],
)  # fmt: skip
def test_the_errors_in_an_answer_of_status_200_are_typed(body: Any, refusal: Refusal | None) -> None:
    assert TRACKER.refusals.read(ServiceResponse(200, {}, body)) == refusal


@for_each(
    "content",
    [
        *(b"type Query { a: Missing }", b"type Query {", b'{"__schema": {"types": 1}}', b"schema { query: A }"),
        *(b"type Query { a: In } input In { x: Int }", b"union U = Int type Query { a: U }"),
    ],
)
def test_a_broken_schema_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidRequest, match="GraphQL schema") as refused:
        description.parse(content)
    assert refused.value.details["field"] == "description"


def test_where_the_library_is_not_installed_a_schema_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = json.dumps({"data": introspection_from_schema(build_schema("type Query { a: Int }"))}).encode()
    monkeypatch.setitem(sys.modules, "graphql", None)
    for content in (b"type Query { a: Int }", answer):
        with pytest.raises(InvalidRequest, match="mcpist api import"):
            description.parse(content)


def test_a_first_line_of_many_signs_is_read_at_once() -> None:
    assert not graphql_schema.is_sdl(b"#" * 10_000 + b"\nopenapi: 3.0.3\n")
    assert graphql_schema.is_sdl(b"#" * 10_000 + b"\ntype Query { a: Int }")


@for_each(
    "types",
    [
        "type A { node: A, id: ID }",
        "type A { nodes: A, pageInfo: Info, id: ID } type Info { endCursor: String }",
        "type A { nodes: [B], pageInfo: Info } type B { nodes: [A], pageInfo: Info } type Info { endCursor: String }",
    ],
)
def test_a_type_in_itself_is_asked_for_a_few_times(types: str) -> None:
    (rule,) = overlay_of(f"type Query {{ a: A }} {types}".encode()).tools.values()
    assert len(rule.document) < 200


def test_names_that_make_documents_long_are_refused() -> None:
    texts = " ".join(f"f{number}{'x' * 60_000}: Int" for number in range(20))
    fields = " ".join(f"a{number}: A" for number in range(100))
    with pytest.raises(InvalidRequest, match="its documents have more"):
        overlay_of(f"type Query {{ {fields} }} type A {{ {texts} }}".encode())


def test_a_schema_of_too_many_words_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphql_schema, "MAX_SDL_TOKENS", 100)
    with pytest.raises(InvalidRequest, match="more than 100 "):
        overlay_of()


def test_an_import_that_takes_too_long_is_refused() -> None:
    seconds = iter(range(100))
    with pytest.raises(InvalidRequest, match=r"^description: reading it takes more than 3 seconds: choose") as refused:
        graphql_schema.from_sdl(SDL.encode(), ImportBudget(3, lambda: next(seconds)))
    assert refused.value.details["field"] == "description"
    found = description.parse(SDL.encode())
    with pytest.raises(InvalidRequest, match="takes more than 3 seconds"):
        propose(found, "tracker", server="https://t.example.com", budget=ImportBudget(3, lambda: next(seconds)))


def test_no_mutation_and_no_document_of_others_makes_a_tool_that_reads() -> None:
    made = overlay_of(b"type Query { a: Int } type Mutation { findOrCreate: Int, getToken: Int, search: Int }").tools
    assert {name for name, rule in made.items() if rule.effect == "reads"} == {"get_a"}
    stated = {"operationId": "dropAll", "x-mcpist-document": "query { a }", "responses": {"204": {"description": ""}}}
    root = {"openapi": "3.0.3", "info": {}, "paths": {"/a": {"delete": stated}}}
    (rule,) = overlay_of(json.dumps(root).encode()).tools.values()
    assert (rule.effect, rule.document) == ("destroys", "")


def test_a_query_whose_name_says_that_it_changes_something_is_asked_and_reviewed() -> None:
    sdl = b"type Query { deleteAll: Int, purgeCache(id: ID!): Int, items: [Int], rotateKey: Int, stars: Int }"
    tools = overlay_of(sdl).tools
    asked = {name: rule.review for name, rule in tools.items() if rule.effect == "destroys"}
    assert {name.removeprefix("get_") for name in asked} == {"delete_all", "purge_cache", "rotate_key"}
    assert all("sounds as if it changed something" in " ".join(review) for review in asked.values())
    assert {rule.effect for name, rule in tools.items() if name not in asked} == {"reads"}


def test_input_types_that_lead_through_a_whole_api_are_read() -> None:
    chain = " ".join(f"input I{number} {{ a: I{number + 1} }}" for number in range(2000))
    found = description.parse(f"type Query {{ a(i: I0): Int }} {chain} input I2000 {{ a: I0 }}".encode())
    assert len(found.root["components"]["schemas"]) == 2001


def test_a_query_and_a_mutation_of_one_name_are_two_tools() -> None:
    sdl = (
        "type Note { id: ID!, body: String } type Payload { success: Boolean!, note: Note }"
        " type Query { projectNote(id: String!): Note } type Mutation { projectNote(body: String!): Payload! }"
    )
    found = description.parse(sdl.encode(), operations=["mutation.projectNote", "query.projectNote"])
    tools = propose(found, "tracker", server=SERVER).tools
    assert sorted((rule.operation, rule.effect) for rule in tools.values()) == [
        ("POST /graphql#getProjectNote", "reads"),
        ("POST /graphql#projectNote", "destroys"),
    ]
    assert [one.id for one in description.parse(SDL.encode()).operations][:2] == ["issue", "issues"]


def test_a_large_object_is_asked_for_what_it_always_has_and_what_has_a_name_first() -> None:
    texts = " ".join(f"a{number}: String" for number in range(graphql_schema.MAX_TEXTS))
    objects = " ".join(f"b{number}: Blob" for number in range(graphql_schema.MAX_OBJECTS))
    sdl = f"""
    type Blob {{ id: ID! }} type Team {{ id: ID!, name: String! }}
    type Issue {{
      {texts} {objects} status: String! identifier: String! team: Team! owner: Team
      "[Internal] What the vendor keeps for itself." notes: String!
      "[DEPRECATED] Ask for owner." lead: Team!
    }}
    type Query {{ issue(id: String!): Issue "[Internal] Of the vendor." secretIssue: Issue }}
    """
    overlay = overlay_of(sdl.encode())
    assert [*overlay.tools] == ["get_issue"]
    document = overlay.tools["get_issue"].document
    fields = document.partition("issue(id: $id) {")[2].split()
    assert fields[:2] == ["identifier", "status"]
    assert "team { id name } owner { id name } b0 { id }" in document
    assert not {"notes", "lead"} & {*fields}
    assert (document.count(" a"), document.count(" b")) == (
        graphql_schema.MAX_TEXTS - 2,
        graphql_schema.MAX_OBJECTS - 2,
    )
