"""The English texts of what the last form changed: `?done=KEY` shows one of them."""

TEXTS = {
    "connected": "Connected. You can close this page and go back to your assistant.",
    "declined": "Nothing was connected: access was not allowed at the service.",
    "disconnected": "Disconnected. It is no longer used after one minute at the latest.",
    "kept": "Nothing was changed.",
    "language": "The language was changed.",
    "signed_out_there": "That browser is signed out.",
    "signed_out_everywhere": "All other browsers are signed out.",
}
