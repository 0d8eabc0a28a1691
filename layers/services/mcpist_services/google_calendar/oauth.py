"""Google Calendar's consent: Google's dialect, and the scopes that the tools need."""

from mcpist.oauth.provider import Consent
from mcpist_services.google.oauth import GOOGLE

CONSENT = Consent(
    GOOGLE,
    scopes=("https://www.googleapis.com/auth/calendar.readonly", "https://www.googleapis.com/auth/calendar.events"),
)
