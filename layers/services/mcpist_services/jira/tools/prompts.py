"""Resources and prompts of Jira."""

from mcpist_services.jira.module import Board, Project, jira
from mcpist_services.jira.tools.boards import list_boards, list_sprint_issues, list_sprints
from mcpist_services.jira.tools.issues import get_changelog, get_issue, search
from mcpist_services.jira.tools.projects import list_projects

jira.addresses("jira://issues/{issue_key}", get_issue, "issue", "An issue with its description.")
jira.addresses("jira://boards/{board_id}/sprints", list_sprints, "sprints", "The sprints of a board.")
jira.addresses("jira://sprints/{sprint_id}", list_sprint_issues, "sprint", "The issues of a sprint.")


@jira.prompt(search, get_issue)
def triage_my_issues(project: Project) -> str:
    """Sort the open issues that you are to work on by what should happen next."""
    return (
        f"Triage my open issues in the Jira project {project}. In one batch, search them (jira.search with "
        f'`project = "{project}" AND assignee = currentUser() AND statusCategory != Done ORDER BY priority DESC, '
        "duedate`), and read those that are overdue, or were not touched for two weeks, with their comments "
        "(jira.get_issue). Group them into: do now, plan, waits for somebody, close. Say why in one line each, and "
        "propose statuses and priorities. Change nothing before I agree."
    )


@jira.prompt(search, get_changelog)
def stand_up(project: Project) -> str:
    """Prepare your report for today's stand-up."""
    return (
        f"Prepare my stand-up for the Jira project {project}. In one batch, search what I touched since the last "
        f'working day (jira.search with `project = "{project}" AND assignee = currentUser() AND updated >= -1d`; on a '
        f'Monday `-3d`) and what I have in progress (`project = "{project}" AND assignee = currentUser() AND '
        'statusCategory = "In Progress"`), and read how the touched ones changed (jira.get_changelog). Tell in three '
        "short lists with keys: done, next, blocked. Change nothing before I agree."
    )


@jira.prompt(list_sprints, list_sprint_issues)
def sprint_review(board_id: Board) -> str:
    """Sum up a board's active sprint."""
    return (
        f"Review the active sprint of the Jira board {board_id}. In one batch, find it (jira.list_sprints with state "
        "active) and list its issues (jira.list_sprint_issues). Report the progress towards the goal, what is done, in "
        "progress and not begun, and how much each person has; name risks, and what should move to the next sprint. "
        "Change nothing before I agree."
    )


jira.completes("project", list_projects, "key")
jira.completes("board_id", list_boards, "id")
