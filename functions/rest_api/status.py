"""Old addresses of the API, and the time in its answers."""

from datetime import UTC, datetime

from aws_lambda_powertools.event_handler import Response

from rest_api.exchange import current
from rest_api.router import new_router

router = new_router()


def timestamp() -> str:
    """Return the time in UTC, as answers have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@router.post("/tools/call", include_in_schema=False)
def redirect_to_call() -> Response[None]:
    """Send a program to the call of tools, with the same method and body."""
    return Response(307, headers={"location": f"{current().request.public_url}/v1/tools/call"})
