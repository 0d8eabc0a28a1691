"""The checkout that some commands need; an installed wheel has none."""

from pathlib import Path

from infra.cli.document import CommandError

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "template.yaml"


def template_file() -> Path:
    """Return the template; CommandError where there is no checkout."""
    if not TEMPLATE.exists():
        raise not_a_checkout()
    return TEMPLATE


def not_a_checkout() -> CommandError:
    """Return the error of a command that runs only in a checkout."""
    message = "This command needs a checkout of MCPist, and this mcpist is installed without one."
    return CommandError("NOT_CONFIGURED", message, "Clone the repository and run it in `make shell`.")
