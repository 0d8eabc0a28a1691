"""The life of a stack: created, changed, broken and rolled back, deleted."""

import shlex
import ssl
import sys
import threading
from pathlib import Path

import httpx2

from infra.local.login import LocalLogin, Person
from rehearsal import gaps
from rehearsal.account import Stack, remove, resources
from rehearsal.address import serving
from rehearsal.engine import Engine
from rehearsal.release import Release, make_deploy
from rehearsal.report import act, expect
from rehearsal.usage import SUBJECT, User, administered, connected, used

GREETING_FILE = "CoreLayer/python/mcpist/error_texts/en.toml"
GREETING = "No access token was sent."
# A FIFO queue whose name does not end as such a queue's must; it fails after functions have been updated.
IMPOSSIBLE = """\
  Impossible:
    Type: AWS::SQS::Queue
    DependsOn: [McpEndpointFunction, StepRunnerFunction, TokenBrokerFunction]
    Properties: {QueueName: impossible, FifoQueue: true}
"""
LOGIN_CLIENT = "mcpist"
ADDRESS = "ada@example.com"


def rehearse(engine: Engine, folder: Path, *, hold: bool = False) -> None:
    """Create a stack, use it, change it and delete it; if `hold` is set, only serve it until Ctrl-C."""
    stack, before = Stack(engine), resources(engine)
    with LocalLogin([Person(SUBJECT, "Ada Admin", ADDRESS, "admin")], audience="") as login:
        user, release = User(stack, login), Release()
        with serving(stack) as address:
            login.register(LOGIN_CLIENT, redirect_uri=f"{address}/login/callback")
            who = f"Issuer={login.issuer}", f"LoginClientId={LOGIN_CLIENT}", f"Administrator={ADDRESS}"
            created(stack, f"PublicUrl={address}", *who)
            login.accept_resource(stack.outputs["McpUrl"])
            administered(user)
            if hold:
                _serve(user)
                return
            used(user)
            connected(user, address)
        changed_parameters(user, release)
        changed_layer(user, release.copy(folder / "second"))
        gaps.checked(stack)
        refused(user, release.copy(folder / "third"))
        unable_to_start(user, release.copy(folder / "fourth"))
        failed_creation(user, release.copy(folder / "fifth"))
        deleted(stack, before)


def created(stack: Stack, *parameters: str) -> None:
    """Deploy this project for the first time."""
    with act("make deploy creates the stack without a question"):
        outcome = make_deploy(stack.engine, *parameters)
        expect(outcome.code == 0, outcome.end)
        expect(stack.status == "CREATE_COMPLETE", stack.status)
    with act("live of every function runs the first version"):
        live = stack.check_live()
        expect(live, "the stack has no functions")
        wrong = [id_ for id_, one in live.items() if one["Version"] != "1"]
        expect(not wrong, f"not at version 1: {wrong}")
    with act("the outputs name what was created"):
        outputs, found = stack.outputs, resources(stack.engine)
        expect(("table", outputs["DirectoryTable"]) in found, outputs)
        expect(("bucket", outputs["FilesBucketName"]) in found, outputs)


def changed_parameters(user: User, release: Release) -> None:
    """Change parameters, the API's address among them: the new values reach the running functions, others stay."""
    stack, url = user.stack, f"https://{user.stack.api_host}"
    kept = stack.live()["McpEndpointFunction"]["Environment"]["Variables"]["ISSUER"]
    with act("make deploy with new parameters"):
        _deploy(release, stack, "PublicUrl=", "UserRequests=50", "LogLevel=DEBUG")
        expect(stack.status == "UPDATE_COMPLETE", stack.status)
        user.login.accept_resource(stack.outputs["McpUrl"])
    with act("the new values run in live, and the others are kept"):
        live = stack.check_live()
        variables = live["McpEndpointFunction"]["Environment"]["Variables"]
        found = [variables[name] for name in ("PUBLIC_URL", "USER_REQUESTS", "ISSUER")]
        expect(found == [url, "50", kept], found)
        levels = {one["LoggingConfig"]["ApplicationLogLevel"] for one in live.values()}
        expect(levels == {"DEBUG"}, levels)
        expect(stack.outputs["McpUrl"] == f"{url}/mcp", stack.outputs)
        versions = {one["Version"] for one in live.values()}
        expect(versions == {"2"}, f"versions {versions}")


def changed_layer(user: User, release: Release) -> None:
    """Deploy a release in which one text of a layer is another."""
    with act("make deploy of a second release with a changed layer, which live runs"):
        release.replace(GREETING_FILE, GREETING, f"{GREETING} 2")
        _deploy(release, user.stack)
        user.stack.check_live()
        expect(_greeting(user) == f"{GREETING} 2", _greeting(user))


def refused(user: User, release: Release) -> None:
    """Deploy a release that CloudFormation cannot create as a whole."""
    with act("a release that CloudFormation refuses is rolled back, and the second runs on"):
        before = user.stack.live()
        release.replace("template.yaml", "\nResources:\n", f"\nResources:\n{IMPOSSIBLE}")
        release.replace(GREETING_FILE, GREETING, f"{GREETING} 3")
        outcome = release.deploy(user.stack.engine)
        expect(outcome.code == 1, outcome.end)
        expect(user.stack.status == "UPDATE_ROLLBACK_COMPLETE", user.stack.status)
        after = user.stack.check_live()
        moved = [id_ for id_, one in after.items() if one["Version"] != before[id_]["Version"]]
        expect(not moved, f"other versions than before: {moved}")
        expect(_greeting(user) == f"{GREETING} 2", _greeting(user))


def unable_to_start(user: User, release: Release) -> None:
    """Deploy a release whose endpoint cannot start, see it, and go back as docs/deploy.md says."""
    with act("a release that cannot start, and mcpist smoke says so"):
        release.replace("McpEndpointFunction/mcp_endpoint/handler.py", "\ndef handler(", "\n1 / 0\ndef handler(")
        _deploy(release, user.stack)
        state = user.stack.live()["McpEndpointFunction"]["State"]
        expect(state == "Failed", f"{gaps.FAILING_SNAPSHOT.name}: the version is {state}")
        expect(not user.mcpist("smoke", user.stack.outputs["McpUrl"])["success"], "mcpist smoke finds no problem")
    with act("deploying the first release again brings it back"):
        _deploy(Release(), user.stack)
        user.stack.check_live()
        found = user.smoke()
        expect(not found.get("problem"), found.get("problem"))
        expect(_greeting(user) == GREETING, _greeting(user))


def failed_creation(user: User, release: Release) -> None:
    """Let the first creation of another stack fail."""
    engine, before = user.stack.engine, resources(user.stack.engine)
    other = Stack(engine, "other")
    with act("a first creation that fails retains nothing"):
        release.replace("template.yaml", "\nResources:\n", f"\nResources:\n{IMPOSSIBLE}")
        outcome = release.deploy(engine, "--stack-name", other.name, f"Issuer={user.login.issuer}")
        expect(outcome.code == 1, outcome.end)
        expect(other.status == "ROLLBACK_COMPLETE", other.status)
        left = resources(engine) - before
        expect(left == {("stack", other.name)}, f"left: {left}")
        other.delete()


def _deploy(release: Release, stack: Stack, *parameters: str) -> None:
    outcome = release.deploy(stack.engine, "--stack-name", stack.name, *parameters)
    expect(outcome.code == 0, outcome.end)


def _greeting(user: User) -> str:
    """Return a text of the core layer, as the endpoint answers a client without a token."""
    engine = user.stack.engine
    trusted = ssl.create_default_context(cafile=engine.certificates.authority)
    with httpx2.Client(proxy=engine.proxy, verify=trusted, timeout=60, trust_env=False) as client:
        return str(client.post(user.stack.outputs["McpUrl"], json={}).json()["error"]["message"])


def deleted(stack: Stack, before: set[tuple[str, str]]) -> None:
    """Delete the stack, then by hand what it retains: nothing of it remains."""
    engine, prefix = stack.engine, f"mcpist-{stack.id}-"
    with act("deleting the stack keeps the stores, the keys and what batches and people made, and nothing else"):
        kept = {(kind, name) for kind, name in resources(engine) - before if _is_kept(kind, name, prefix)}
        stack.delete()
        left = resources(engine) - before
        expect(left == kept, f"left: {sorted(left - kept)}, missing: {sorted(kept - left)}")
    with act("what docs/deploy.md removes by hand is all that remained"):
        remove(engine, left)
        expect(resources(engine) == before, sorted(resources(engine) ^ before))


def _is_kept(kind: str, name: str, prefix: str) -> bool:
    if kind == "table":
        return "-Ledger-" not in name
    if kind == "machine":
        return name.startswith(prefix) and not name.endswith("-relay")
    return kind in {"bucket", "key", "parameter"}


def _serve(user: User) -> None:
    """Print the variables with which another shell reaches the engine, and wait for Ctrl-C."""
    own = {"URL": user.stack.outputs["McpUrl"], "TOKEN": user.token(), "ISSUER": user.login.issuer}
    for name, value in {**user.stack.engine.client_environment, **own}.items():
        sys.stdout.write(f"export {name}={shlex.quote(value)}\n")
    sys.stdout.flush()
    threading.Event().wait()
