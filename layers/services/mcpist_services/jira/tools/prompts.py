"""Resources and prompts of Jira."""

from mcpist_services.jira.module import Board, Project, jira
from mcpist_services.jira.tools.boards import list_boards, list_sprint_issues, list_sprints
from mcpist_services.jira.tools.issues import get_changelog, get_issue, search
from mcpist_services.jira.tools.projects import list_projects

jira.addresses("jira://issues/{issue_key}", get_issue, "issue", "An issue with its description.")
jira.addresses("jira://boards/{board_id}/sprints", list_sprints, "sprints", "The sprints of a board.")
jira.addresses("jira://sprints/{sprint_id}", list_sprint_issues, "sprint", "The issues of a sprint.")


@jira.prompt(search, get_issue)
def triage_my_issues(project: Project) -> None:
    """Sort the open issues that you are to work on by what should happen next."""


@jira.prompt(search, get_changelog)
def stand_up(project: Project) -> None:
    """Prepare your report for today's stand-up."""


@jira.prompt(list_sprints, list_sprint_issues)
def sprint_review(board_id: Board) -> None:
    """Sum up a board's active sprint."""


jira.completes("project", list_projects, "key")
jira.completes("board_id", list_boards, "id")
