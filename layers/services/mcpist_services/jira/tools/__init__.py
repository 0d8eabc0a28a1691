"""The tools of Jira in the order in which they are listed, then its resources and prompts."""

from mcpist_services.jira.module import Board, Project, jira

from mcpist_services.jira.tools import projects, issues, workflow, bulk, links  # isort: skip
from mcpist_services.jira.tools import comments, boards, versions, service_desks  # isort: skip

jira.addresses("jira://issues/{issue_key}", issues.get_issue, "issue", "An issue with its description.")
jira.addresses("jira://boards/{board_id}/sprints", boards.list_sprints, "sprints", "The sprints of a board.")
jira.addresses("jira://sprints/{sprint_id}", boards.list_sprint_issues, "sprint", "The issues of a sprint.")


@jira.prompt(issues.search, issues.get_issue)
def triage_my_issues(project: Project) -> None:
    """Sort the open issues that you are to work on by what should happen next."""


@jira.prompt(issues.search, issues.get_changelog)
def stand_up(project: Project) -> None:
    """Prepare your report for today's stand-up."""


@jira.prompt(boards.list_sprints, boards.list_sprint_issues)
def sprint_review(board_id: Board) -> None:
    """Sum up a board's active sprint."""


jira.completes("project", projects.list_projects, "key")
jira.completes("board_id", boards.list_boards, "id")
