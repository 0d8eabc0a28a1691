"""Microsoft To Do's consent: Microsoft's dialect, and the scopes that the tools need."""

from mcpist.oauth.provider import Consent
from mcpist_services.microsoft.oauth import MICROSOFT

CONSENT = Consent(MICROSOFT, scopes=("Tasks.ReadWrite", "User.Read"))
