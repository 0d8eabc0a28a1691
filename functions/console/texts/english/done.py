"""The English texts of what the last form changed: `?done=KEY` shows one of them."""

TEXTS = {
    "connected": "Connected. You can close this page and go back to your assistant.",
    "declined": "Nothing was connected: access was not allowed at the service.",
    "disconnected": "Disconnected. It is no longer used after one minute at the latest.",
    "kept": "Nothing was changed.",
    "language": "The language was changed.",
    "signed_out_there": "That browser is signed out.",
    "signed_out_everywhere": "All other browsers are signed out.",
    "batch_cancelled": "The batch is cancelled: no further step starts.",
    "batch_resumed": "The rest of the batch was started as this new one.",
    "batch_declined": "Nothing was run.",
    "batch_confirmed": "The batch was started.",
    "file_kept": "The result is kept as a file of yours.",
    "tool_enabled": "It is switched on: everybody whose roles permit it can use it within seconds.",
    "tool_disabled": "It is switched off: nobody can use it after some seconds.",
}
