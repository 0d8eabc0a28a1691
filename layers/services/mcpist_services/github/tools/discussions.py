"""Discussions, which GitHub has in its GraphQL API alone.

Reference: https://docs.github.com/en/graphql/guides/using-the-graphql-api-for-discussions
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, given
from mcpist.tools.declare.paging import MAX_ITEMS
from mcpist.tools.declare.pasted import from_url
from mcpist_services.github.module import ADDRESSES, Markdown, Name, Number, Owner, Repo, github

MAX_DISCUSSIONS_PAGE = 100
_LISTED = "number title url createdAt updatedAt isAnswered author { login } category { name } comments { totalCount }"
_LIST = f"""query($owner: String!, $repo: String!, $first: Int!, $after: String, $category: ID) {{
  repository(owner: $owner, name: $repo) {{
    discussions(
      first: $first, after: $after, categoryId: $category, orderBy: {{field: UPDATED_AT, direction: DESC}}
    ) {{
      nodes {{ {_LISTED} }} pageInfo {{ hasNextPage endCursor }}
    }}
  }}
}}"""
_READ = f"""query($owner: String!, $repo: String!, $number: Int!) {{
  repository(owner: $owner, name: $repo) {{
    discussion(number: $number) {{
      id {_LISTED} body answer {{ body author {{ login }} }}
      comments(first: 100) {{ nodes {{ author {{ login }} createdAt body replies(first: 20) {{ nodes {{
        author {{ login }} createdAt body
      }} }} }} totalCount }}
    }}
  }}
}}""".replace("comments { totalCount } ", "")
_CATEGORIES = """query($owner: String!, $repo: String!) {
  repository(owner: $owner, name: $repo) { id discussionCategories(first: 100) { nodes { id name slug } } }
}"""
_CREATE = """mutation($repository: ID!, $category: ID!, $title: String!, $body: String!) {
  createDiscussion(input: {repositoryId: $repository, categoryId: $category, title: $title, body: $body}) {
    discussion { number url }
  }
}"""
_COMMENT = """mutation($discussion: ID!, $body: String!) {
  addDiscussionComment(input: {discussionId: $discussion, body: $body}) { comment { id url } }
}"""
DISCUSSION = (
    "number",
    "title",
    "category.name as category",
    "author.login as author",
    "isAnswered as answered",
    "comments.totalCount as comments",
    "createdAt as created",
    "updatedAt as updated",
    "url",
)

DiscussionNumber = Annotated[
    Number, from_url(ADDRESSES, "discussion_number"), "The number that list_discussions shows, e.g. 5"
]
Category = Annotated[Name, "The name or slug of one of the repository's categories, e.g. Ideas"]


@github.reads(shows(*DISCUSSION), "graphql")
def list_discussions(
    owner: Owner,
    repo: Repo,
    category: Category | None = None,
    limit: Annotated[int, Field(ge=1, le=MAX_ITEMS)] = 50,
) -> Calls:
    """List a repository's discussions, those with the newest activity first."""
    where: dict[str, Any] = {"owner": owner, "repo": repo}
    if category is not None:
        where["category"] = _category((yield _query(_CATEGORIES, **where)).json, category)
    found: list[Any] = []
    page: dict[str, Any] = {"hasNextPage": True}
    while len(found) < limit and page["hasNextPage"]:
        position = given(first=min(limit - len(found), MAX_DISCUSSIONS_PAGE), after=page.get("endCursor"))
        answer = (yield _query(_LIST, **where, **position)).json["data"]["repository"]["discussions"]
        found, page = found + answer["nodes"], answer["pageInfo"]
    return found


@github.reads(shows(*DISCUSSION, "markdown", text="markdown"), "graphql")
def get_discussion(owner: Owner, repo: Repo, discussion_number: DiscussionNumber) -> Calls:
    """Read a discussion with its first 100 comments, their replies, and which comment is the answer."""
    found = (yield _query(_READ, owner=owner, repo=repo, number=discussion_number)).json
    discussion = found["data"]["repository"]["discussion"]
    answer = (discussion.get("answer") or {}).get("body")
    remarks = [_remark(each, answer) for each in discussion["comments"]["nodes"]]
    return discussion | {"markdown": "\n\n".join([discussion["body"], *remarks])}


@github.writes(shows("number", "url"), "graphql", irreversible="no tool deletes a discussion")
def create_discussion(
    owner: Owner,
    repo: Repo,
    category: Category,
    title: Annotated[Name, "In one line, e.g. A darker theme"],
    body: Annotated[Markdown, "Markdown, e.g. My eyes would thank you."],
) -> Calls:
    """Begin a discussion in a category of a repository."""
    found = (yield _query(_CATEGORIES, prepares=True, owner=owner, repo=repo)).json
    repository, in_category = found["data"]["repository"]["id"], _category(found, category)
    created = yield _query(_CREATE, repository=repository, category=in_category, title=title, body=body)
    return created.json["data"]["createDiscussion"]["discussion"]


@github.writes(shows("id", "url"), "graphql", irreversible="no tool deletes a comment on a discussion")
def add_discussion_comment(
    owner: Owner, repo: Repo, discussion_number: DiscussionNumber, body: Annotated[Markdown, "Markdown, e.g. Agreed."]
) -> Calls:
    """Comment on a discussion."""
    where = {"owner": owner, "repo": repo, "number": discussion_number}
    found = (yield _query(_READ, prepares=True, **where)).json["data"]["repository"]["discussion"]
    added = yield _query(_COMMENT, discussion=found["id"], body=body)
    return added.json["data"]["addDiscussionComment"]["comment"]


def _query(query: str, *, prepares: bool = False, **variables: Any) -> Call:
    return Call("POST", "/graphql", json={"query": query, "variables": variables}, prepares=prepares)


def _category(found: Any, wanted: str) -> str:
    """Return the id of a category by its name or slug."""
    known = found["data"]["repository"]["discussionCategories"]["nodes"]
    ids = [each["id"] for each in known if wanted.casefold() in (each["name"].casefold(), each["slug"])]
    if not ids:
        names = ", ".join(each["name"] for each in known) or "none"
        raise InvalidRequest(field="category", problem=f"the repository has these categories: {names}")
    return str(ids[0])


def _remark(comment: Any, answer: str | None, level: Literal["##", "###"] = "##") -> str:
    """Return a comment with its replies as Markdown."""
    author = (comment.get("author") or {}).get("login", "ghost")
    mark = " (the answer)" if answer is not None and comment["body"] == answer else ""
    replies = (comment.get("replies") or {}).get("nodes", [])
    head = f"{level} {author}, {comment['createdAt']}{mark}"
    return "\n\n".join([head, comment["body"], *(_remark(each, None, "###") for each in replies)])
