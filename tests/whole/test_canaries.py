"""No secret is in anything that the deployment writes, with every logger of every function at DEBUG.

One person's story, told once: log in, connect, call, batch, be refused, refresh, fail in every way, paste, fall ill,
take away. It is traced, all that it counts is what the alarms and the dashboard watch, and it needs each right of each
role.
The provider stands on loopback and repeats all that it is told in all that it refuses. What the story has written down
is read afterwards; the secrets were chosen by the provider, or caught on their way.
"""

import contextlib
import io
import json
import re
import socket
import sys
import threading
import zlib
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx2
import pytest

from infra.cli.main import run
from infra.cli.up_facts import facts_of
from infra.local.demo import ORGANIZATION, USER
from infra.local.deployment import DeploymentOptions, LocalDeployment, run_local_deployment
from infra.local.names import STACK
from infra.source import ROOT
from rehearsal.person import agree
from tests import emf, watch
from tests.accounts import OWN, forget
from tests.core.loopback import listening
from tests.project_copy import copy_code, with_modules
from tests.roles.accesses import questions
from tests.roles.made_up import made_up
from tests.roles.removal import unneeded
from tests.roles.stack import stack_of
from tests.token_broker.test_secrets import assert_silent
from tests.traffic import AwsRequest, HookPhase, InjectedResponse, traffic_of
from tests.upstreams.fake_upstream import FakeUpstream, serving_fake
from tests.whole import workload
from tests.whole.conftest import McpUser, built
from tests.whole.test_grants import histories, tables

GET_ME: dict[str, Any] = {"module": "github", "tool": "get_me"}
GET_REPO: dict[str, Any] = {"module": "github", "tool": "get_repo", "params": {"owner": "o", "repo": "r"}}
CLIENT_SECRET = "client-secret-canary"
UPSTREAM_KEY = "upstream-key-canary"
UPSTREAM_PARAMETER = f"/mcpist/{STACK}/upstreams/echo"
KEYS = tuple(f"github_pat_{name}0canary0000000000" for name in ("pasted", "second", "refused", "typed"))
JWT = re.compile(r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}")
FUNCTIONS = ("console", "login", "mcp_endpoint", "step_runner", "token_broker")
LOUD = """
import logging
import sys

logging.getLogger().setLevel(logging.DEBUG)
logging.getLogger().addHandler(logging.StreamHandler(sys.stderr))
logging.getLogger("watch").debug("every logger is heard")
"""


class Hub:
    """GitHub and its authorization server on loopback: it keeps what it was told, and repeats it when it refuses."""

    def __init__(self) -> None:
        self.told: list[dict[str, str]] = []
        self.hooks: list[dict[str, str]] = []
        self.issued: list[str] = []
        self.refused: set[str] = set()
        self.fails: list[tuple[int, str]] = []
        hub = self

        class Pages(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
                status, answer = hub.answer(self.path, self.headers.get("authorization", ""), body)
                self.send_response(status)
                self.send_header("content-length", str(len(answer)))
                self.send_header("x-repeated", body)
                self.end_headers()
                self.wfile.write(answer.encode())

            do_POST = do_DELETE = do_GET  # noqa: N815

            def log_message(self, *_: Any) -> None:
                """Silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, path: str, authorization: str, body: str) -> tuple[int, str]:
        token = authorization.removeprefix("Bearer ")
        repeated = json.dumps({"message": f"not with {authorization}", "error_description": body, "errors": [body]})
        if path == "/login/oauth/access_token":
            self.told.append(dict(parse_qsl(body)))
            return self._token(body)
        if path == "/user" and token not in self.refused:
            return 200, json.dumps({"id": sum(token.encode()), "login": "uma-at-github", "type": "User"})
        if path.endswith("/hooks"):
            self.hooks.append(json.loads(body)["config"])
            return 201, json.dumps({"id": len(self.hooks)})
        return (401 if path == "/user" else 422 if path.startswith("/repos") else 500), repeated

    def _token(self, body: str) -> tuple[int, str]:
        if self.fails:
            status, text = self.fails.pop(0)
            token = dict(parse_qsl(body)).get("refresh_token", "")
            return status, text.replace("BODY", json.dumps(body)[1:-1]).replace("TOKEN", token)
        number = len(self.issued)
        pair = {"access_token": f"ghu_access_canary_{number}", "refresh_token": f"ghr_refresh_canary_{number}"}
        self.issued += pair.values()
        return 200, json.dumps({**pair, "expires_in": 28_800, "scope": "repo,read:user"})

    @property
    def access_token(self) -> str:
        """The last that it issued."""
        return [token for token in self.issued if "access" in token][-1]


@dataclass
class Story:
    """A deployment, its person's browser, and what was said to everybody."""

    deployment: LocalDeployment
    hub: Hub
    web: httpx2.Client
    secrets: set[str] = field(default_factory=set)
    said: list[str] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)

    def log_in(self) -> None:
        """Follow the link of a call as a browser does."""
        place = self.web.get(f"{self.deployment.connect_url}/github").headers["location"]
        attempt = dict(parse_qsl(self.web.cookies["mcpist-login"]))
        landed = agree(self.web, place, USER.sub)
        self.secrets.add(self.web.cookies["mcpist-browser"])
        self.hear(self.web.get(landed))
        session = dict(parse_qsl(self.web.cookies["mcpist-session"]))["session"]
        code = parse_qs(urlsplit(landed).query)["code"][0]
        self.secrets |= {attempt["state"], attempt["verifier"], code, session.rstrip("=")}

    def post(self, service: str, **form: str) -> httpx2.Response:
        """Send a form of a page."""
        page = self.web.get(f"{self.deployment.aws.api_url}/profile").text
        told = {"csrf": page.partition('name="csrf" value="')[2].partition('"')[0], **form}
        return self.web.post(
            f"{self.deployment.connect_url}/{service}", data=told, headers={"origin": self.deployment.aws.api_url}
        )

    def begin(self) -> str:
        """The state of a consent that is under way; the page that leads there has to carry it."""
        page = self.post("github", action="begin", services="github").text
        state = page.partition("state=")[2].partition("&")[0]
        self.secrets.add(state)
        return state

    def come_back(self, **query: str) -> httpx2.Response:
        """Open the callback to which the provider sends the browser back."""
        self.secrets |= {query[name] for name in ("state", "code") if name in query}
        return self.hear(self.web.get(f"{self.deployment.connect_url}/callback/github", params=query))

    def hear(self, answer: httpx2.Response) -> httpx2.Response:
        """Keep a page, and where it leads; the cookie alone is the browser's secret."""
        headers = [f"{name}: {value}" for name, value in answer.headers.items() if name != "set-cookie"]
        self.said += [answer.text, *headers]
        return answer

    @property
    def user(self) -> McpUser:
        """Its person, with a token of its own."""
        token = self.deployment.token(USER)
        self.secrets.add(token)
        return McpUser(self.deployment, token)

    def call(self, name: str = "call", **arguments: Any) -> str:
        """Return a meta-tool's answer, errors included."""
        answer = str(self.user.call(name, **arguments))
        self.said.append(answer)
        return answer

    def age(self, what: Literal["access_expires_at", "updated_at"] = "access_expires_at") -> None:
        """Let the access token end, or be stored long ago, and the last failure be long ago; nobody remembers."""
        dynamodb, table = self.deployment.aws.client("dynamodb"), self.deployment.aws.resource("Grants")
        pk = {"S": f"{ORGANIZATION}#github"}
        dynamodb.delete_item(TableName=table, Key={"pk": pk, "sk": {"S": f"lease#{OWN}"}})
        dynamodb.update_item(
            TableName=table,
            Key={"pk": pk, "sk": {"S": OWN}},
            UpdateExpression=f"SET {what} = :past",
            ExpressionAttributeValues={":past": {"N": "1"}},
        )
        forget(self.deployment)


@pytest.fixture(scope="session")
def hub() -> Iterator[Hub]:
    hub = Hub()
    with listening(hub.server):
        yield hub


class Daemon:
    """X-Ray's daemon on loopback: it keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"

    def listen(self) -> None:
        """Until somebody says nothing."""
        while packet := self.socket.recv(65_536):
            self.told.append(packet.decode())

    @property
    def segments(self) -> list[dict[str, Any]]:
        """Without the header of each packet."""
        return [json.loads(packet.partition("\n")[2]) for packet in self.told]


@pytest.fixture(scope="session")
def daemon() -> Iterator[Daemon]:
    daemon = Daemon()
    thread = threading.Thread(target=daemon.listen)
    thread.start()
    yield daemon
    daemon.socket.sendto(b"", daemon.socket.getsockname())
    thread.join()
    daemon.socket.close()


@pytest.fixture(scope="session")
def upstream() -> Iterator[FakeUpstream]:
    with serving_fake() as upstream:
        reads = {"inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
        upstream.says["tools/list"] = {"tools": [{"name": "echo", **reads}]}
        yield upstream


@contextlib.contextmanager
def loud(request: pytest.FixtureRequest) -> Iterator[LocalDeployment]:
    """A traced deployment whose functions print all that any library logs, with GitHub on loopback."""
    daemon: Daemon = request.getfixturevalue("daemon")
    upstream: FakeUpstream = request.getfixturevalue("upstream")
    hub, folders = request.getfixturevalue("hub"), request.getfixturevalue("tmp_path_factory")
    root = with_modules(folders.mktemp("loud"))
    (root / "functions").unlink()
    copy_code(ROOT / "functions", root / "functions")
    for name in FUNCTIONS:
        with (root / f"functions/{name}/__init__.py").open("a") as face:
            face.write(LOUD)
    (root / "template.yaml").unlink()
    template = (ROOT / "template.yaml").read_text("utf-8")
    traced = template.partition("  Tracing:\n")
    template = "".join([*traced[:2], traced[2].replace('Default: "off"', 'Default: "on"', 1)])
    variable = "TRACING: !Ref Tracing\n"
    template = template.replace(variable, f"{variable}        AWS_XRAY_DAEMON_ADDRESS: {daemon.address}\n")
    # With so small a limit the function of events tells the table of each call.
    calls = "REST_API: !Ref RestApiFunction.Alias\n          DAY_CALLS: "
    template = template.replace(f"{calls}!Ref DayCalls", f'{calls}"1000"')
    (root / "template.yaml").write_text(template.replace("Default: INFO", "Default: DEBUG"), "utf-8")
    for file in ("layers/services/mcpist_services/github/module.py", "layers/services/mcpist_services/github/oauth.py"):
        text = (root / file).read_text("utf-8").replace("https://api.github.com", hub.url)
        (root / file).write_text(text.replace("https://github.com/login", f"{hub.url}/login"), "utf-8")
    documents = folders.mktemp("documents")
    keyed = {"X-Api-Key": f"ssm:{UPSTREAM_PARAMETER}"}
    server = upstream.server(headers=keyed).model_dump(mode="json", by_alias=True, exclude_defaults=True)
    category = {"description": "Echoes", "server": "echo", "tools": {"includeNames": ["echo"]}}
    upstreams = {"mcpServers": {"echo": server}, "categories": {"echo": category}}
    (root / "upstreams.json").write_text(json.dumps(upstreams))
    with run_local_deployment(
        DeploymentOptions(
            docs=documents,
            root=root,
            modules=("files", "github", "rag"),
            upstreams=root / "upstreams.json",
            programs=ROOT / "examples/programs",
        )
    ) as deployment:
        folder = next(one for one in deployment.aws.template.functions if one.id == "TokenBrokerFunction").environment
        deployment.aws.client("ssm").put_parameter(
            Name=f"{folder['OAUTH_PARAMETERS']}/github",
            Value=json.dumps({"client_id": "Iv1.house", "client_secret": CLIENT_SECRET}),
            Type="SecureString",
        )
        deployment.aws.client("ssm").put_parameter(Name=UPSTREAM_PARAMETER, Value=UPSTREAM_KEY, Type="SecureString")
        yield deployment


pytestmark = [pytest.mark.slow, built(loud)]


@pytest.fixture(scope="module")
def story(deployment: LocalDeployment, hub: Hub) -> Iterator[Story]:
    """The whole story: its chapters assert that they happened."""
    with httpx2.Client(timeout=60) as web:
        story = Story(deployment, hub, web)
        story.secrets |= {CLIENT_SECRET, UPSTREAM_KEY, *KEYS, b64encode(f"Iv1.house:{CLIENT_SECRET}".encode()).decode()}
        connect(story)
        use(story)
        workload.ask_upstream(story.user)
        workload.run_programs(story.user)
        refresh_in_vain(story)
        connect_in_vain(story)
        paste(story)
        fall_ill(story)
        story.secrets |= {*hub.issued, *(told["code_verifier"] for told in hub.told if "code_verifier" in told)}
        story.stored = stored(deployment)
        yield story


def connect(story: Story) -> None:
    story.log_in()
    back = story.come_back(state=story.begin(), code="code-canary-first")
    assert back.headers["location"].endswith("/connect/github?done=connected")
    assert "uma-at-github" in story.hear(story.web.get(back.headers["location"])).text
    assert "GitHub" in story.hear(story.web.get(story.deployment.connect_url)).text


def use(story: Story) -> None:
    """Call, batch, and a token that the service refuses: it is refreshed once."""
    assert "uma-at-github" in story.call(**GET_ME)
    assert "TOOL_EXECUTION_ERROR" in story.call(**GET_REPO)
    story.age("updated_at")
    story.hub.refused.add(story.hub.access_token)
    assert "uma-at-github" in story.call(**GET_ME)
    story.age("updated_at")
    story.hub.refused.add(story.hub.access_token)
    steps = [{"id": "me", **GET_ME, "output": True}, {"id": "repo", **GET_REPO, "output": True}]
    assert "me: succeeded (account: uma-at-github)" in story.call("batch", commands=steps)
    assert [told["grant_type"] for told in story.hub.told] == ["authorization_code", *["refresh_token"] * 2]


def refresh_in_vain(story: Story) -> None:
    """A provider out of order, that limits, that knows nothing, and that at last takes the token no more."""
    outages = [
        (500, '{"error_description": "BODY"}'),
        (403, "<html>BODY</html>"),
        (429, '{"message": "BODY"}'),
        (400, '{"error": "invalid_client", "error_description": "BODY"}'),
        (200, '{"access_token": ["BODY"]}'),
        (200, '{"error": "TOKEN"}'),
        (400, '{"error": "TOKEN"}'),
        (401, '{"error": "BODY"}'),
    ]
    codes = ("UPSTREAM_UNAVAILABLE", "UPSTREAM_UNAVAILABLE", "RATE_LIMIT", "NOT_CONFIGURED")
    for outage, code in zip_longest(outages, codes, fillvalue="UPSTREAM_UNAVAILABLE"):
        story.age()
        story.hub.fails.append(outage)
        assert code in story.call(**GET_ME)
        assert story.hub.fails == []
    story.age()
    story.hub.fails.append((200, '{"error": "bad_refresh_token", "error_description": "BODY"}'))
    assert "RECONNECT_REQUIRED" in story.call(**GET_ME)


def connect_in_vain(story: Story) -> None:
    """Codes that are refused, an account that cannot be read, a person who says no, and a state that nobody made."""
    for number, (status, text) in enumerate(
        [(200, '{"error": "bad_verification_code", "error_description": "BODY"}'), (502, "BODY")]
    ):
        story.hub.fails.append((status, text))
        assert story.come_back(state=story.begin(), code=f"code-canary-vain-{number}").status_code >= 400
    story.hub.refused.add(f"ghu_access_canary_{len(story.hub.issued)}")
    assert story.come_back(state=story.begin(), code="code-canary-unread").status_code == 400
    declined = story.come_back(state=story.begin(), error="access_denied", error_description="code-canary-no")
    assert declined.headers["location"].endswith("done=declined")
    assert story.come_back(state="state-canary-nobodys", code="code-canary-nobodys").status_code == 400


def paste(story: Story) -> None:
    """A key, the question about another one, and one that is refused."""
    pasted, second, refused, _ = KEYS
    story.hub.refused.add(refused)
    asked = story.hear(story.post("github", action="paste", key=pasted))
    assert asked.status_code == 200
    question = asked.text.partition('name="question" value="')[2].partition('"')[0]
    agreed = story.hear(story.post("confirm", question=question, agreed="yes"))
    assert agreed.headers["location"].endswith("done=connected")
    assert story.hear(story.post("github", action="paste", key=refused)).status_code == 400
    assert "Is this the account?" in story.hear(story.post("github", action="paste", key=second)).text
    assert "uma-at-github" in story.call(**GET_ME)


def fall_ill(story: Story) -> None:
    """A token that does not open where it stands, an audit row that is lost, and a table that makes no sense."""
    with faulty(story, "PutItem", "Audit", 500, "InternalServerError"):
        assert "uma-at-github" in story.call(**GET_ME)
    with faulty(story, "BatchWriteItem", "Ledger", 400, "ValidationException"):
        assert "INTERNAL_ERROR" in story.call("batch", commands=[{"id": "me", **GET_ME}])
    version = change_version(story, "9")
    assert "INTEGRITY_ERROR" in story.call(**GET_ME)
    change_version(story, version)
    assert "uma-at-github" in story.call(**GET_ME)


@contextlib.contextmanager
def faulty(story: Story, operation: str, table: str, status: int, code: str) -> Iterator[None]:
    """One operation on one table fails for the endpoint."""

    def hook(request: AwsRequest, moment: HookPhase) -> None:
        mine = (request.function, request.operation, request.tables) == ("McpEndpointFunction", operation, (name,))
        if mine and moment == "before":
            raise InjectedResponse(status, {"__type": code})

    name = story.deployment.aws.resource(table)
    traffic_of(story.deployment.aws).on_request = hook
    try:
        yield
    finally:
        traffic_of(story.deployment.aws).on_request = None


def change_version(story: Story, version: str) -> str:
    """Say of the stored grant that it is another version of itself; nobody remembers. What it was before."""
    before = story.deployment.aws.client("dynamodb").update_item(
        TableName=story.deployment.aws.resource("Grants"),
        Key={"pk": {"S": f"{ORGANIZATION}#github"}, "sk": {"S": OWN}},
        UpdateExpression="SET version = :version",
        ExpressionAttributeValues={":version": {"N": version}},
        ReturnValues="UPDATED_OLD",
    )["Attributes"]
    forget(story.deployment)
    return str(before["version"]["N"])


@pytest.fixture(scope="module")
def told(story: Story, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the command line's output at the end of the story: all grants are revoked, and the provider fails."""
    folder = tmp_path_factory.mktemp("shell")
    (folder / ".mcpist").mkdir()
    facts = facts_of(story.deployment)
    (folder / ".mcpist/up.json").write_text(json.dumps(facts))
    story.secrets |= {str(facts["access_token"]), str(facts["administrator_token"])}
    commands = (
        "grant connect github --key - --replace",
        "grant list",
        "grant reencrypt",
        "grant kill --everything",
        "audit",
    )
    written = io.StringIO()
    with pytest.MonkeyPatch.context() as monkeypatch, contextlib.chdir(folder):
        monkeypatch.setattr(sys, "stdin", io.StringIO(KEYS[-1]))
        with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
            codes = [run(command.split()) for command in commands]
    assert codes == [0] * len(commands), written.getvalue()
    forget(story.deployment)
    assert "CONNECTION_REQUIRED" in story.call(**GET_ME)
    return written.getvalue()


def test_every_function_was_heard_at_debug(story: Story, told: str) -> None:
    logs = {log.stem: log.read_text("utf-8") for log in story.deployment.aws.logs.iterdir()}
    for function in ("ConsoleFunction", "McpEndpointFunction", "StepRunnerFunction", "TokenBrokerFunction"):
        assert "every logger is heard" in logs[function]
        assert '"level":' in logs[function]
    assert '"kill"' in told
    assert len(story.secrets) > 40


def test_no_log_holds_a_secret(story: Story, told: str) -> None:  # noqa: ARG001 - the end of the story
    for log in story.deployment.aws.logs.iterdir():
        keeps_silent(story, log.read_text("utf-8"))


def test_no_table_holds_a_secret(story: Story, told: str) -> None:  # noqa: ARG001
    """Before all is taken away, and after."""
    assert any("uma-at-github" in text for text in story.stored)
    assert any("'#connect'" in text for text in story.stored)
    keeps_silent(story, *story.stored, *stored(story.deployment))


def test_no_machine_history_or_file_holds_a_secret(story: Story, told: str) -> None:  # noqa: ARG001
    states = story.deployment.aws.client("stepfunctions")
    machines = states.list_state_machines()["stateMachines"]
    assert len(machines) > 1
    definitions = [states.describe_state_machine(stateMachineArn=one["stateMachineArn"]) for one in machines]
    keeps_silent(story, str(definitions), *histories(story.deployment), *files(story.deployment))


def test_no_page_and_no_answer_holds_a_secret(story: Story, told: str) -> None:
    assert len(story.said) > 50
    keeps_silent(story, *story.said, told)


def test_no_trace_holds_a_secret_and_each_says_where_the_time_went(story: Story, daemon: Daemon) -> None:
    keeps_silent(story, *daemon.told)
    # The schedule of each minute has come to pass where the story took one.
    assert {segment["name"] for segment in daemon.segments} - {"events"} == {
        *FUNCTIONS,
        *("rest_api", "tool", "broker", "program_runner", "upstream", "render"),
    }
    said = {(key, value) for one in daemon.segments for key, value in one.get("annotations", {}).items()}
    assert {("tool", "github.get_me"), ("service", "github"), ("operation", "resolve")} <= said
    assert {("code", "TOOL_EXECUTION_ERROR"), ("code", "RECONNECT_REQUIRED")} <= said
    assert not [segment for segment in daemon.segments if {"cause", "metadata"} & set(segment)]


@pytest.fixture(scope="module")
def counted(story: Story, told: str) -> list[emf.EmittedMetric]:  # noqa: ARG001
    return [one for log in story.deployment.aws.logs.iterdir() for one in emf.seen(log.read_text("utf-8"))]


def test_every_alarm_of_ours_watches_what_a_door_has_counted(
    deployment: LocalDeployment, counted: list[emf.EmittedMetric]
) -> None:
    (namespace,) = {one.namespace for one in counted}
    assert namespace == deployment.aws.template.functions[0].environment["POWERTOOLS_METRICS_NAMESPACE"]
    series = {(one.namespace, one.name, one.dimensions) for one in counted}
    alarmed = {(one.namespace, one.name, one.dimensions) for one in watch.alarmed().values()}
    ours = {one for one in alarmed if not one[0].startswith("AWS/")}
    assert len(ours) == 6
    assert ours <= series


def test_the_dashboard_shows_all_that_the_doors_count_and_nothing_else(counted: list[emf.EmittedMetric]) -> None:
    """Not by outcome: in this story no step is cancelled, skipped or lost; and no limit of a day is near."""
    shown = {(one.namespace, one.name, names(one)) for one in watch.shown() if not one.namespace.startswith("AWS/")}
    by_name = {(one.namespace, one.name, names(one)) for one in counted}
    assert {one[1] for one in shown - by_name} == {"DayLimitWarnings"}
    assert by_name <= shown
    units = {"Latency": "Milliseconds", "ProgramTime": "Milliseconds", "ProgramInputBytes": "Bytes"}
    assert {(one.name, one.unit) for one in counted} == {(one.name, units.get(one.name, "Count")) for one in counted}


def test_each_message_to_the_broker_goes_by_the_id_of_the_door_that_sent_it(story: Story, told: str) -> None:  # noqa: ARG001
    """But those of `grant reencrypt`, which are their own."""
    lines = {name: list(emf.documents(path.read_text("utf-8"))) for name, path in logs(story.deployment).items()}
    ids = {
        name: {line["correlation_id"] for line in found if "correlation_id" in line} for name, found in lines.items()
    }
    sent: dict[str, set[str]] = {name: set() for name in ("console", "mcp_endpoint", "rest_api", "step_runner")}
    for line in lines["token_broker"]:
        if line.get("message") == "response":
            senders = [name for name in sent if line["correlation_id"] in ids[name]]
            assert senders or line["correlation_id"] == line["request"]
            for name in senders:
                sent[name].add(line["operation"])
    assert sent["console"] >= {"login", "offer", "begin", "finish", "paste", "confirm"}
    assert sent["mcp_endpoint"] >= {"resolve", "warrant"}
    assert "resolve" in sent["step_runner"]
    assert sent["rest_api"] >= {"list", "paste", "kill"}


def logs(deployment: LocalDeployment) -> dict[str, Path]:
    """The doors' logs by their names."""
    handlers = {function.id: function.handler.partition(".")[0] for function in deployment.aws.template.functions}
    return {handlers[log.stem]: log for log in deployment.aws.logs.iterdir()}


def names(one: emf.EmittedMetric | watch.WatchedMetric) -> frozenset[str]:
    return frozenset(name for name, _ in one.dimensions)


def keeps_silent(story: Story, *written: str) -> None:
    """No secret of the story stands there, and no JWT at all: nobody caught that of the login."""
    everything = "\n".join(written)
    assert_silent(everything, *story.secrets)
    assert not JWT.search(everything)


def stored(deployment: LocalDeployment) -> list[str]:
    """All tables, and what stands in them compressed."""
    dynamodb, texts = deployment.aws.client("dynamodb"), tables(deployment)
    for name in ("Ledger", "Grants"):
        for item in dynamodb.scan(TableName=deployment.aws.resource(name))["Items"]:
            for value in item.values():
                with contextlib.suppress(zlib.error):
                    texts.append(zlib.decompress(value.get("B", b"")).decode())
    return texts


def files(deployment: LocalDeployment) -> Iterator[str]:
    """Every object of every bucket."""
    s3 = deployment.aws.client("s3")
    for bucket in s3.list_buckets()["Buckets"]:
        for one in s3.list_objects_v2(Bucket=bucket["Name"]).get("Contents", ()):
            yield one["Key"] + s3.get_object(Bucket=bucket["Name"], Key=one["Key"])["Body"].read().decode()


# -- what the roles allow ---------------------------------------------------------------------------------


def test_every_right_of_a_role_and_a_key_is_needed_by_a_request(
    story: Story,
    told: str,  # noqa: ARG001 - the end of the story
    upstream: FakeUpstream,
) -> None:
    """Each action on each resource in each statement of the template is taken away in turn."""
    workload.keep_documents(story.user)
    workload.seal_rows(story.deployment)
    workload.administer(story.deployment)
    workload.use_rest(story.user)
    workload.use_console(story.deployment)
    workload.use_login(story.deployment)
    workload.add_by_issuer(story.deployment)
    workload.set_logins(story.deployment)
    workload.end_approvals(story.user)
    workload.count_recent_uses(story.user)
    workload.follow_events(story.user)
    workload.begin_sources(story.user, story.hub.hooks)
    workload.receive_for_registered(story.user)
    workload.automate(story.user)
    workload.cancel_batches(story.user, upstream)
    workload.remove_machines(story.user)
    workload.finish_publications(story.deployment)
    workload.deactivate(story.deployment)
    stack = stack_of(story.deployment.aws.template)
    without = unneeded(stack, [*questions(stack, traffic_of(story.deployment.aws).requests), *made_up(stack)])
    assert not sorted(map(str, without)), "\n".join(sorted(map(str, without)))
