"""One use of every right that a story of accounts leaves unused: documents, files, upstreams, the relay, machines."""

import base64
import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Event as Signal
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
from mcp_types import ElicitRequestParams, ElicitResult

from infra.local.demo import ADMINISTRATOR, ORGANIZATION, ROLE, USER
from infra.local.deployment import LocalDeployment, operating
from infra.local.login import Person
from login.metadata import JWT_BEARER
from mcpist.audit.record import audit_table, keyed, timestamp
from mcpist.aws.table import directory_table, ledger_table
from mcpist.batch.machine import machine_usage
from mcpist.caller import Policies
from mcpist.events import interests, publish
from mcpist.events.event import Event
from mcpist.people import client_logins, directory, edits, publication
from mcpist.polling import Polling
from mcpist.running import approvals
from rehearsal.person import agree
from tests import members
from tests.accounts import connect, forget
from tests.audit_items import audit_items
from tests.core.loopback import Reply, json_response, listening, serving
from tests.events.library_hooks import HOOKS, WEBHOOKS, lent, mac
from tests.login.signers import Signer
from tests.mcp_endpoint.endpoint_client import EVENTS
from tests.mcp_endpoint.receiver import SECRET, Receiver
from tests.services.described.library import library, overlay_of
from tests.traffic import AwsRequest, HookPhase, InjectedResponse, traffic_of
from tests.upstreams.fake_upstream import ECHO, FakeUpstream
from tests.whole.conftest import McpUser

# More than the ledger keeps inline, and random, so that it cannot be compressed.
LARGE_BYTES = 40_000
OLD_SECONDS = 9 * 86_400
WAIT_SECONDS = 20
WAIT = Polling(initial_seconds=0.05, max_seconds=0.5)
SAY: dict[str, Any] = {"module": "echo", "tool": "echo"}
REPOSITORY = {"owner": "octocat", "repo": "hello-world"}
TAGS: dict[str, Any] = {"module": "rag", "tool": "list_tags"}
WAITING = [{"id": "wait", **SAY}, {"id": "after", **TAGS, "after": "wait"}]


def echoes(number: int) -> list[dict[str, Any]]:
    """Return steps that ask an upstream side by side, so that they run on a machine and in no request."""
    return [{"id": f"s{index}", **SAY} for index in range(number)]


def keep_documents(user: McpUser) -> None:
    """Write, read and delete a document that is a file by its size, by calls and by a batch."""
    with operating(user.deployment.aws):
        role = directory.read(ORGANIZATION).roles[ROLE]
        members.put_role(ORGANIZATION, replace(role, allow=(*role.allow, "rag.*")))
    forget(user.deployment)
    accepting = replace(user, answer=_accept)
    content = f"# Large\n\n{secrets.token_hex(LARGE_BYTES // 2)}"
    read = {"module": "rag", "tool": "get_doc", "params": {"path": "large.md"}}
    delete = {"module": "rag", "tool": "delete_doc", "params": {"path": "large.md"}}
    for run in (lambda step: accepting.texts("call", **step), lambda step: accepting.texts("batch", commands=[step])):
        user.texts("call", module="rag", tool="put_doc", params={"path": "large.md", "content": content})
        run(read)
        run(delete)


def ask_upstream(user: McpUser) -> None:
    """Call a server whose secret is a stored parameter, from fresh sandboxes of both doors."""
    forget(user.deployment)
    assert "echo" in user.texts("call", **SAY)[0]
    assert "echo succeeded" in user.texts("batch", commands=[{"id": "echo", **SAY}])[0]


def run_programs(user: McpUser) -> None:
    """Run programs by each door that runs tools, with files and in vain."""
    episode = {"episode_number": 1, "title": "T", "genre": "mystery", "word_count_target": 200}
    create = {"module": "writers", "tool": "create_episode", "params": episode}
    user.texts("call", **create)
    vain = {**create, "params": {**episode, "title": "two\nlines"}}
    assert "one line each" in user.call("call", **vain).content[0].text
    checked = {"target_files": ["${episode.outputs[0]}"], "check_types": ["length"]}
    check = {"id": "check", "module": "writers", "tool": "quality_check", "params": checked}
    assert "2 of 2 steps" in user.texts("batch", commands=[{"id": "episode", **create}, check])[0]
    with rest_client(user.deployment, user.token) as rest:
        call = {"name": "writers.create_episode", "parameters": episode}
        assert rest.post("/v1/tools/call", json=call).status_code == 200


def count_recent_uses(user: McpUser) -> None:
    """Call a tool, and run it as a step, under a policy that looks at the audit."""
    many = '@id("base") permit (principal, action, resource);' + (
        '@id("many") forbid (principal, action, resource) when { context.recent.writes > 1000 };'
    )
    with operating(user.deployment.aws):
        directory.change(ORGANIZATION, edits.set_policies(Policies(0, many)))
    forget(user.deployment)
    user.texts("call", **TAGS)
    user.texts("batch", commands=echoes(2))
    with operating(user.deployment.aws):
        directory.change(ORGANIZATION, edits.set_policies(None))
    forget(user.deployment)


def follow_events(user: McpUser) -> None:
    """Subscribe to events, have one delivered, end the subscription with its client's login, poll, and unsubscribe."""
    connect(user.deployment, "github", "uma-canary-token")
    receiver, name = Receiver(), "github.issues"
    receiver.replies = [Reply(status=204, body=b"")]
    place = {"name": name, "arguments": REPOSITORY}
    with listening(receiver.server):
        delivery = {"mode": "webhook", "url": f"{receiver.url}/hook", "secret": SECRET}
        _send_method(user, "events/subscribe", **place, delivery=delivery)
        _happen(user, name, "e1")
        WAIT.wait(0, lambda count: count > 0, lambda: len(receiver.messages), WAIT_SECONDS)
        _happen(user, name, "e2", login="ended")
        WAIT.wait(0, lambda count: count > 1, lambda: len(receiver.messages), WAIT_SECONDS)
        assert [one.get("type", "event") for one in receiver.messages] == ["event", "terminated"]
        _send_method(user, "events/subscribe", **place, delivery=delivery)
        _send_method(user, "events/unsubscribe", **place, delivery=delivery)
        _send_method(user, "events/poll", **place)


def _happen(user: McpUser, name: str, id_: str, **target: str) -> None:
    """Publish an event of a person's repository to which somebody has subscribed."""
    aws, data = user.deployment.aws, {"repository": {"name": "hello-world", "owner": {"login": "octocat"}}}
    with operating(aws, EVENTS_TABLE=aws.resource("Events"), EVENT_QUEUE=aws.resource("EventQueue")):
        (interest,) = interests.of(ORGANIZATION, name)
        interests.add(replace(interest, target=interest.target | target))
        happened = Event(
            id=id_, organization=ORGANIZATION, user=interest.user, type=name, occurred_at=int(time.time()), data=data
        )
        publish.publish(happened)


def begin_sources(user: McpUser, hooks: list[dict[str, str]]) -> None:
    """Begin a source by the REST API, have its vendor call it, and end it; `hooks` are those that the vendor made."""
    with rest_client(user.deployment, user.token) as rest:

        def state(id_: str) -> str:
            rows = rest.get("/v1/events/sources").json()["sources"]
            return next((one["state"] for one in rows if one["id"] == id_), "gone")

        def wait(id_: str, wanted: str) -> None:
            assert WAIT.wait(state(id_), lambda found: found == wanted, lambda: state(id_), WAIT_SECONDS) == wanted

        begun = rest.post("/v1/events/sources", json={"type": "github.pulls", "arguments": REPOSITORY}).json()["source"]
        wait(begun["id"], "active")
        (hook,) = [one for one in hooks if one["url"] == begun["url"]]
        pull = {"number": 1, "updated_at": datetime.now(UTC).isoformat()}
        body = json.dumps({"action": "opened", "pull_request": pull}).encode()
        signed = hmac.new(hook["secret"].encode(), body, hashlib.sha256).hexdigest()
        headers = {"x-github-event": "pull_request", "x-hub-signature-256": f"sha256={signed}"}
        assert httpx2.post(begun["url"], content=body, headers=headers, timeout=60).status_code == 204
        (found,) = rest.get("/v1/events", params={"type": "github.pulls"}).json()["events"]
        assert found["data"]["pull_request"] == {"number": 1}
        _tick(user.deployment, "EventsFunction")
        assert rest.delete(f"/v1/events/sources/{begun['id']}").status_code == 200
        wait(begun["id"], "gone")


def receive_for_registered(user: McpUser) -> None:
    """Register an API with webhooks, begin a source of them, and have its vendor call it."""
    deployment, secret = user.deployment, "the-vendors-own-secret"
    overlay = overlay_of(library(openapi="3.1.0", webhooks=WEBHOOKS)).dump() | {"hooks": HOOKS}
    with rest_client(deployment, deployment.token(ADMINISTRATOR)) as rest:
        assert rest.post("/v1/modules", json={"name": "library", "overlay": overlay}).status_code == 201
        with operating(deployment.aws):
            before = directory.read(ORGANIZATION).roles[ROLE]
            members.put_role(ORGANIZATION, replace(before, modules=(*before.modules, "library")))
        forget(deployment)
        with rest_client(deployment, user.token) as own:
            asked = {"type": "library.book_lent", "secret": secret}
            begun = own.post("/v1/events/sources", json=asked).json()["source"]
            body = lent(time.time())
            headers = {"x-library-signature": f"sha256={mac(body, secret).hex()}"}
            assert httpx2.post(begun["url"], content=body, headers=headers, timeout=60).status_code == 204
            (found,) = own.get("/v1/events", params={"type": "library.book_lent"}).json()["events"]
            assert found["data"]["book"]["title"] == "Dune"
            assert own.delete(f"/v1/events/sources/{begun['id']}").status_code == 200
        assert rest.delete("/v1/modules/library").status_code == 200
    forget(deployment)


def automate(user: McpUser) -> None:
    """Set and end automations by the REST API and in the console; the finished batch of one begins it once more."""
    deployment = user.deployment
    with operating(deployment.aws):
        before = directory.read(ORGANIZATION).roles[ROLE]
        modules, allow = (*before.modules, "saved", "automations"), (*before.allow, "saved.*", "automations.*")
        members.put_role(ORGANIZATION, replace(before, modules=modules, allow=allow, destructive=True))
    with rest_client(deployment, user.token) as rest:

        def call(name: str, /, **parameters: Any) -> Any:
            body: dict[str, Any] = {"name": name, "parameters": parameters}
            answer = rest.post("/v1/tools/call", json=body)
            if answer.status_code == 428:
                body["confirmation"] = answer.json()["details"]["confirmation"]
                answer = rest.post("/v1/tools/call", json=body)
            assert answer.status_code == 200, answer.text
            return answer.json()["result"]

        def runs() -> list[str]:
            return sorted(one["state"] for one in call("automations.show", name="again")["runs"])

        call("saved.save", name="tags_of", description="Show tags", commands=[{"id": "tags", **TAGS, "output": True}])
        about = {"name": "again", "batch": "tags_of", "event": "batches.finished", "own_events": True}
        call("automations.set", **about, runs_a_day=1)
        forget(deployment)  # that nobody has asked for such events
        assert rest.post("/v1/batches", json={"commands": [TAGS], "wait": 10}).status_code < 300
        found = WAIT.wait(runs(), lambda states: "skipped" in states, runs, WAIT_SECONDS)
        assert found in (["running", "skipped"], ["skipped", "succeeded"]), found
        _tick(deployment, "RestApiFunction")
        with _signed_in(deployment, USER) as browser:
            fields = {"name": "pushed", "batch": "tags_of", "event": "github.pushes"}
            fields["arguments"] = json.dumps(REPOSITORY)
            _submit(browser, "/automations", action="set", **{f"arg.{name}": value for name, value in fields.items()})
            assert "pushed" in browser.get("/automations").text
            _submit(browser, "/automations", action="end", name="pushed")
        assert call("automations.delete", name="again")["state"] == "deleted"
    with operating(deployment.aws):
        members.put_role(ORGANIZATION, before)
    forget(deployment)


def _tick(deployment: LocalDeployment, function: str) -> None:
    """Invoke a function as its schedule of each minute does."""
    event = json.dumps({"source": "aws.events", "detail-type": "Scheduled Event"}).encode()
    alias = deployment.aws.resource(f"{function}.Alias")
    answer = deployment.aws.client("lambda").invoke(FunctionName=alias, Payload=event)
    assert "FunctionError" not in answer, answer["Payload"].read()


def cancel_batches(user: McpUser, upstream: FakeUpstream) -> None:
    """Cancel a batch whose only running step waits, by each door that starts batches."""
    with waiting(upstream) as asked:
        batch = _send(user, "batch_as_task", "batch", commands=WAITING)["taskId"]
        assert asked.wait(WAIT_SECONDS)
        _send(user, "cancel_task", batch, taskId=batch)
    assert "after cancelled" in user.texts("batch", batch_id=batch)[0]
    with waiting(upstream) as asked, rest_client(user.deployment, user.token) as rest:
        batch = rest.post("/v1/batches", json={"commands": WAITING}).json()["id"]
        assert asked.wait(WAIT_SECONDS)
        assert rest.post(f"/v1/batches/{batch}/cancel").status_code in {200, 202}


@contextmanager
def waiting(upstream: FakeUpstream) -> Iterator[Signal]:
    """Let the upstream answer only at the end of the context; the event says when it has been asked."""
    asked, ended = Signal(), Signal()

    def answer(_: Any) -> Any:
        asked.set()
        ended.wait(WAIT_SECONDS)
        return ECHO

    upstream.says["tools/call"] = answer
    try:
        yield asked
    finally:
        ended.set()
        upstream.says["tools/call"] = ECHO


@contextmanager
def rest_client(deployment: LocalDeployment, token: str) -> Iterator[httpx2.Client]:
    """A client of the REST API in fresh sandboxes."""
    forget(deployment)
    headers = {"authorization": f"Bearer {token}"}
    with httpx2.Client(base_url=deployment.aws.api_url, headers=headers, timeout=60) as rest:
        yield rest


def use_rest(user: McpUser) -> None:
    """Write, read and delete a document, ask an upstream and the broker, and run a batch of a new shape."""
    with rest_client(user.deployment, user.token) as rest:

        def call(name: str, **more: Any) -> httpx2.Response:
            return rest.post("/v1/tools/call", json={"name": name, **more})

        path = {"path": "rest.md"}
        assert call("rag.put_doc", parameters=path | {"content": "# Rest"}).status_code == 200
        assert call("rag.get_doc", parameters=path).status_code == 200
        asked = call("rag.delete_doc", parameters=path)
        assert asked.status_code == 428
        question = asked.json()["details"]["confirmation"]
        assert call("rag.delete_doc", parameters=path, confirmation=question).status_code == 200
        assert call("echo.echo").status_code == 200
        assert rest.get("/v1/connections").status_code == 200
        batch = rest.post("/v1/batches", json={"commands": echoes(6), "wait": 10}).json()["id"]
        assert rest.get(f"/v1/batches/{batch}", params={"wait": 10}).status_code == 200


def use_console(deployment: LocalDeployment) -> None:
    """Confirm a batch of a new shape, watch it, keep a result, resume it, try and switch tools, change the language."""
    with rest_client(deployment, deployment.token(ADMINISTRATOR)) as rest:
        chain = [{"id": f"c{n}", **TAGS, "output": True, "after": [f"c{n - 1}"] if n else []} for n in range(7)]
        delete = {"id": "delete", "module": "rag", "tool": "delete_doc", "params": {"path": "none.md"}, "after": "c6"}
        question = rest.post("/v1/batches", json={"commands": [*chain, delete]}).json()["details"]["confirmation"]
    with _signed_in(deployment, ADMINISTRATOR) as browser:
        # A new broker reads our clients at all providers by one request.
        deployment.aws.functions["TokenBrokerFunction"].stop_idle()
        assert "github" in browser.get("/connect").text
        _submit(browser, "/batches", action="confirm", question=question, agreed="yes")
        with rest_client(deployment, deployment.token(ADMINISTRATOR)) as rest:
            assert rest.get(f"/v1/batches/{question}", params={"wait": 20}).json()["done"]
        assert question in browser.get("/batches").text
        assert "c6" in browser.get("/batches", params={"id": question, "step": "c6"}).text
        kept = _submit(browser, "/batches", action="keep", id=question, step="c0")
        assert "SHA-256" in browser.get(kept.headers["location"]).text
        resumed = _submit(browser, "/batches", action="resume", id=question)
        asked = dict(parse_qsl(urlsplit(resumed.headers["location"]).query))["confirm"]
        assert "none.md" in browser.get("/batches", params={"confirm": asked}).text
        assert "rag.list_docs" in browser.get("/tools", params={"q": "list documents"}).text
        tried = browser.post("/tools", data={"csrf": _token(browser), "action": "try", "tool": "rag.list_docs"})
        assert "What a model reads" in tried.text
        for action in ("disable", "enable"):
            _submit(browser, "/tools", action=action, name="rag.list_tags", back="tool")
        assert "modules.enable" in browser.get("/logs").text
        assert "rag.list_docs" in browser.get("/adoption").text
        for language in ("ja", "en"):
            _submit(browser, "/profile", action="language", language=language)
        _submit(browser, "/profile", action="sign_out")


def use_login(deployment: LocalDeployment) -> None:
    """Let clients act for a person at each door, renew a token, and end them: by themselves, and in the console."""
    address = deployment.aws.api_url
    with httpx2.Client(base_url=address, timeout=60) as web:
        first, second = (_client_of(web, address) for _ in range(2))
        for tokens in (first, second):
            with rest_client(deployment, tokens["access_token"]) as rest:
                assert rest.get("/v1/connections").status_code == 200
            assert McpUser(deployment, tokens["access_token"]).texts("call", **TAGS)
        renewed = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"], "client_id": first["client"]}
        assert web.post("/login/token", data=renewed).status_code == 200
        ended = {"token": first["access_token"], "client_id": first["client"]}
        assert web.post("/login/revoke", data=ended).status_code == 200
        assert len(web.get("/login/jwks.json").json()["keys"]) == 1
    with _signed_in(deployment, ADMINISTRATOR) as browser:
        page = browser.get("/profile").text
        login = re.search(r'name="login" value="(\w+)"', page)
        assert login, "no program is listed"
        _submit(browser, "/profile", action="end_client", login=login[1])
        assert f'name="login" value="{login[1]}"' not in browser.get("/profile").text
    with rest_client(deployment, deployment.token(ADMINISTRATOR)) as rest:
        link = rest.post("/v1/invitations", json={"user": "joy", "name": "Joy", "roles": []}).json()["link"]
    with httpx2.Client(base_url=address, headers={"origin": address, "accept": "text/html"}, timeout=60) as browser:
        fields = re.findall(r'type="hidden" name="(\w+)" value="([^"]+)"', browser.get(link).text)
        joining = browser.post("/join", data=dict(fields)).headers["location"]
        assert browser.get(agree(browser, joining, ADMINISTRATOR.sub)).status_code < 400


def add_by_issuer(deployment: LocalDeployment) -> None:
    """Let a company's issuer make a person a user at a client's login."""
    signer, address = Signer(), deployment.aws.api_url
    with (
        rest_client(deployment, deployment.token(ADMINISTRATOR)) as rest,
        serving() as company,
        httpx2.Client(base_url=address, timeout=60) as web,
    ):
        company.replies = [
            json_response({"issuer": company.url, "jwks_uri": f"{company.url}/keys"}),
            json_response(signer.jwks),
        ]
        client = rest.post("/v1/services", json={"user": "robot", "name": "Robot", "roles": [ROLE]}).json()
        trusted = {"issuer": company.url, "adds_people": True, "roles": [ROLE]}
        assert rest.patch("/v1/organization", json={"trusted_issuers": [trusted]}).status_code == 200
        now = int(time.time())
        said = {"iss": company.url, "sub": "zoe", "aud": address, "resource": f"{deployment.mcp_url}/{ORGANIZATION}"}
        said |= {"iat": now, "exp": now + 300, "jti": "1", "client_id": client["client_id"]}
        form = {"grant_type": JWT_BEARER, "assertion": signer.sign(said, "oauth-id-jag+jwt")}
        answer = web.post("/login/token", data=form, auth=(client["client_id"], client["client_secret"]))
        assert answer.status_code == 200, answer.text
        (zoe,) = (one["user"] for one in rest.get("/v1/users").json()["users"] if one["user"].startswith("zoe-"))
        for user in ("robot", zoe):
            assert rest.delete(f"/v1/users/{user}").status_code == 200


def set_logins(deployment: LocalDeployment) -> None:
    """Set and remove a company login whose client has a secret, by each door of administrators."""
    with serving() as company, rest_client(deployment, deployment.token(ADMINISTRATOR)) as rest:
        names = {f"{name}_endpoint": f"{company.url}/{name}" for name in ("authorization", "token")}
        found = [
            json_response({"issuer": company.url, **names}),
            Reply(),
            json_response({"error": "invalid_grant"}, 400),
        ]
        company.replies = [*found, *found]
        login = {"issuer": company.url, "client_id": "company", "client_secret": secrets.token_hex()}
        answer = rest.put("/v1/logins/globex.com", json=login)
        assert answer.status_code == 200, answer.text
        assert rest.delete("/v1/logins/globex.com").status_code == 200
        with _signed_in(deployment, ADMINISTRATOR) as browser:
            _submit(browser, "/directory", action="login", domain="globex.com", **login)
            _submit(browser, "/directory", action="remove_login", domain="globex.com")


def deactivate(deployment: LocalDeployment) -> None:
    """Let a company's directory end a person's programs; then the janitor has the accounts of its people ended."""
    address = deployment.aws.api_url
    with httpx2.Client(base_url=address, timeout=60) as web:
        _client_of(web, address, USER)
    with rest_client(deployment, deployment.token(ADMINISTRATOR)) as rest:
        token = rest.post("/v1/directory/token", json={}).json()["token"]
        company = {"authorization": f"Bearer {token}", "content-type": "application/scim+json"}
        made = rest.post("/scim/v2/Users", headers=company, json={"userName": USER.email}).json()
        # At a sign-in with the verified address the directory finds the user that there is.
        with _signed_in(deployment, USER):
            pass
        for active in (False, True):
            change = {"Operations": [{"op": "replace", "path": "active", "value": active}]}
            answer = rest.patch(f"/scim/v2/Users/{made['id']}", headers=company, json=change)
            assert answer.json()["active"] is active
            with operating(deployment.aws, LOGINS_TABLE=deployment.aws.resource("Logins")):
                assert client_logins.find(directory.read(ORGANIZATION).users[USER.sub].subject) == []
        assert _tidy(deployment)["organizations_with_expired_accounts"] == 0
        assert rest.delete("/v1/directory/token").status_code == 200


def end_approvals(user: McpUser) -> None:
    """Let the janitor have an approval ended for which nobody came."""
    deployment = user.deployment
    with operating(deployment.aws):
        before = directory.read(ORGANIZATION).roles[ROLE]
        members.put_role(ORGANIZATION, replace(before, destructive=True, approval=("rag.*",)))
    with rest_client(deployment, user.token) as rest:
        call = {"name": "rag.delete_doc", "parameters": {"path": "none.md"}}
        assert rest.post("/v1/tools/call", json=call).json()["code"] == "APPROVAL_REQUIRED"
    with operating(deployment.aws):
        members.put_role(ORGANIZATION, before)
        (listed,) = ledger_table().query(f"{ORGANIZATION}#approvals")
        for key in ((listed["pk"], listed["sk"]), (f"{ORGANIZATION}#{listed['approval_id']}", approvals.APPROVAL_KEY)):
            ledger_table().set(*key, {"until": 1})
        _tidy(deployment)
        (ended,) = ledger_table().query(f"{ORGANIZATION}#approvals")
    assert ended["state"] == "expired"


def _client_of(web: httpx2.Client, address: str, person: Person = ADMINISTRATOR) -> dict[str, str]:
    """A new client that a person lets act, and its tokens."""
    redirect, verifier = "http://127.0.0.1:9/callback", secrets.token_urlsafe(48)
    described = {"client_name": "Workload", "redirect_uris": [redirect], "token_endpoint_auth_method": "none"}
    client = web.post("/login/register", json=described).json()["client_id"]
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    asked = {"response_type": "code", "client_id": client, "redirect_uri": redirect, "code_challenge": challenge}
    page = f"{address}/login/authorize?{urlencode({**asked, 'code_challenge_method': 'S256'})}"
    code = httpx2.URL(agree(web, page, person.sub)).params["code"]
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "client_id": client}
    return {"client": client, **web.post("/login/token", data={**form, "code_verifier": verifier}).json()}


@contextmanager
def _signed_in(deployment: LocalDeployment, person: Person) -> Iterator[httpx2.Client]:
    """A browser in which a person is signed in at the console."""
    address = deployment.aws.api_url
    with httpx2.Client(base_url=address, headers={"origin": address, "accept": "text/html"}, timeout=60) as browser:
        browser.get(agree(browser, "/batches", person.sub))
        yield browser


def _submit(browser: httpx2.Client, path: str, **form: str) -> httpx2.Response:
    """Send a form of a page, which leads to another."""
    answer = browser.post(path, data={"csrf": _token(browser), **form})
    assert answer.status_code == 303, answer.text
    return answer


def _token(browser: httpx2.Client) -> str:
    return browser.get("/profile").text.partition('name="csrf" value="')[2].partition('"')[0]


def remove_machines(user: McpUser) -> None:
    """Let the janitor remove a machine that is old, run a batch of its shape on the relay, and forget the machine."""
    with operating(user.deployment.aws):
        before = {machine.name for machine in machine_usage.list_machines()}
        user.texts("batch", commands=echoes(4))
        (name,) = {machine.name for machine in machine_usage.list_machines()} - before
        machine_usage.delete_use(name)
        forget(user.deployment)
        with _old_machines(user.deployment, name):
            assert name in _tidy(user.deployment)["removed"]
        user.texts("batch", commands=echoes(4))
        assert name not in {machine.name for machine in machine_usage.list_machines()}
        _tidy(user.deployment)
        assert name not in machine_usage.list_uses()


def seal_rows(deployment: LocalDeployment) -> None:
    """Let the janitor seal a row of yesterday; those of the last minutes are too young."""
    with operating(deployment.aws):
        (row, *_) = audit_items(ORGANIZATION)
        yesterday = timestamp(datetime.now(UTC) - timedelta(days=1))
        audit_table().put(keyed(row, ORGANIZATION, f"{yesterday[:10]}T12:00:00.000000+00:00#00000000"))
        assert _tidy(deployment)["sealed_rows"]


def finish_publications(deployment: LocalDeployment) -> None:
    """Let the janitor publish what an interrupted change has left: an access item that is not as it should be."""
    with operating(deployment.aws):
        table = directory_table()
        (stale, *_) = directory.read(ORGANIZATION).access_items()
        table.put({**stale, "locale": "ja", "version": 0})
        table.put(publication.mark(ORGANIZATION, 1) | {"created_at": 0})
        assert _tidy(deployment)["finished_publications"] == 1
        assert (table.get(stale["pk"], stale["sk"]) or {})["locale"] == stale["locale"]


def administer(deployment: LocalDeployment) -> None:
    """Add and remove a user, and read the audit by time and by user, with an administrator's token."""
    with rest_client(deployment, deployment.token(ADMINISTRATOR)) as rest:
        assert rest.post("/v1/users", json={"user": "eve", "name": "Eve", "sub": "eve"}).status_code == 201
        assert rest.delete("/v1/users/eve").status_code == 200
        assert rest.get("/v1/audit", params={"tool": "users.delete"}).json()["rows"][0]["target"] == "users.eve"
        assert rest.get("/v1/audit", params={"user": ADMINISTRATOR.sub}).json()["rows"]
        assert rest.get("/v1/audit/verification").json()["findings"] == []


async def _accept(_: Any, __: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"confirm": True})


def _send(user: McpUser, event: str, name: str, **params: Any) -> dict[str, Any]:
    """Send one message of the kind of an event, as a client that accepts tasks; return its result."""
    recorded = json.loads((EVENTS / f"mcp_endpoint_{event}.json").read_text("utf-8"))
    message = json.loads(recorded["body"])
    if "arguments" in message["params"]:
        params = {"arguments": params}
    message["params"] |= params
    names = ("accept", "content-type", "mcp-protocol-version", "mcp-method")
    headers = {header: recorded["headers"][header] for header in names}
    headers |= {"authorization": f"Bearer {user.token}", "mcp-name": name}
    answer = httpx2.post(user.deployment.mcp_url, json=message, headers=headers, timeout=60).json()
    assert "result" in answer, answer
    result: dict[str, Any] = answer["result"]
    return result


def _send_method(user: McpUser, method: str, **params: Any) -> None:
    """Send a request of any method, which must succeed."""
    recorded = json.loads((EVENTS / "mcp_endpoint_call.json").read_text("utf-8"))
    message = json.loads(recorded["body"])
    message |= {"method": method, "params": {"_meta": message["params"]["_meta"], **params}}
    headers = {header: recorded["headers"][header] for header in ("accept", "content-type", "mcp-protocol-version")}
    headers |= {"authorization": f"Bearer {user.token}", "mcp-method": method, "mcp-name": params["name"]}
    answer = httpx2.post(user.deployment.mcp_url, json=message, headers=headers, timeout=60).json()
    assert "result" in answer, answer


@contextmanager
def _old_machines(deployment: LocalDeployment, name: str) -> Iterator[None]:
    """Show the janitor one machine as if it were days old, and no other."""

    def hook(request: AwsRequest, moment: HookPhase) -> None:
        if (request.function, request.operation, moment) == ("JanitorFunction", "ListStateMachines", "before"):
            machines = deployment.aws.client("stepfunctions").list_state_machines()["stateMachines"]
            (shown,) = [machine for machine in machines if machine["name"] == name]
            created = shown["creationDate"].timestamp() - OLD_SECONDS
            raise InjectedResponse(200, {"stateMachines": [{**shown, "creationDate": created}]})

    traffic_of(deployment.aws).on_request = hook
    try:
        yield
    finally:
        traffic_of(deployment.aws).on_request = None


def _tidy(deployment: LocalDeployment) -> Any:
    """Invoke the janitor as its schedule does."""
    alias = deployment.aws.resource("JanitorFunction.Alias")
    answer = deployment.aws.client("lambda").invoke(FunctionName=alias, Payload=b"{}")
    told = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, told
    return told
