"""The English texts of the page of an invitation."""

TEXTS = {
    "title": "Join {organization}",
    "heading": "You are invited to {organization}",
    "lead": "{by} invites you as {name}. Your assistant can then use the tools of these roles:",
    "no_roles": "none yet",
    "agree": "Sign in and join",
    "note": "The link works once: the person who signs in now joins. Your login decides who that is.",
    "until": "It works until {day}.",
    "refused": "This invitation cannot be used",
    "invalid": "It was used already, was withdrawn, or is over. Ask an administrator for a new link.",
    "taken": "Its user id now belongs to somebody else. Ask an administrator for a new link.",
}
