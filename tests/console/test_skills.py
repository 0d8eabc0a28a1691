"""The page of the organization's skills: what waits is read as text and approved as it was shown."""

from tests.console.conftest import Browser, audited
from tests.services.rag.bucket import store

SKILL = "---\nname: refunds\ndescription: <b>How</b> we refund\n---\n"


def test_an_administrator_reads_and_approves_a_skill(ada: Browser) -> None:
    store("skills/refunds/SKILL.md", f"{SKILL}<script>x</script>\u202eAsk finance.\n")
    assert "&lt;b&gt;How&lt;/b&gt;" in ada.get("/skills")["body"]
    page = ada.get("/skills?id=refunds")["body"]
    assert "&lt;script&gt;x&lt;/script&gt;\\u{202E}Ask finance." in page
    assert "hidden characters: U+202E" in page
    fingerprint = page.partition('name="fingerprint" value="')[2][:64]
    stale = ada.post("/skills?id=refunds", [("action", "approve_skill"), ("id", "refunds"), ("fingerprint", "0" * 64)])
    assert stale["statusCode"] == 400
    form = [("action", "approve_skill"), ("id", "refunds"), ("fingerprint", fingerprint)]
    done = ada.post("/skills?id=refunds", form)
    assert done["headers"]["location"].endswith("done=skill_approved")
    assert 'value="approve_skill"' not in ada.get("/skills?id=refunds")["body"]
    assert audited(user="ada", event="change")[0]["tool"] == "skills.approve"
