"""The English texts of the page of an error."""

TEXTS = {
    "failed": "That did not work",
    "forbidden": "This page is not for you",
    "not_found": "There is no such page",
    "login_ended": "Your login has ended",
    "login_ended_note": "For your safety a login ends after an hour without use. Nothing was changed.",
    "not_logged_in": "You did not log in",
    "not_logged_in_note": "You declined, so nothing was changed. You can log in whenever you like.",
    "which_organization": "Which organization?",
    "signed_out": "You are signed out",
    "signed_out_note": "This browser can show nothing of yours any more.",
    "sign_in": "Sign in",
    "again": "Start again",
    "home": "Go to the start page",
    "other_login": "Log in as another person",
    "who_caller": "You can correct this yourself.",
    "who_administrator": "An administrator of your organization can change this.",
    "who_user": "You can resolve this by connecting the account.",
    "who_nobody": "Nobody needs to act: try again in a moment.",
    "who_us": "This is a defect of the system; its operator can find it by this id: {request}",
    "who_service": "The service refused it, as its message says.",
}
