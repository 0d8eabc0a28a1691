"""A use of a tool that destroys something, as the person who must agree to it reads it."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcpist.render.answer import compact_json
from mcpist.tools.declare.tool import Tool
from mcpist.visible_text import visible

LONG_VALUE_CHARACTERS = 200  # a longer value stands after the others, so that it hides none
_OPAQUE = re.compile(r"[0-9a-f-]{32,}")
"""A hash or a UUID, such as a version, in which a person recognizes nothing."""
_BLANKS = re.compile(r"(?:\\[nrt]| ){20,}")
_MARKUP = re.compile(r"<(?=[!/?A-Za-z])")


@dataclass(frozen=True, slots=True)
class DestructiveUse:
    """A use of a tool that destroys something: a call, or a step of a batch."""

    module: str
    tool: str
    targets: Mapping[str, Any]
    """Its params, in the order in which a person reads them; those of a step with references as written."""
    line: int = 0
    """The step's line; 0 for a call."""
    id: str = ""
    each: str = ""
    """The reference to the list that the step runs over; empty if it runs once."""
    preview: "TargetPreview | None" = None
    """The values of its references now; None if it has none, or if they are not known."""
    account: str | None = None
    """The name of the account that acts: empty if it is not known, None if the tool needs none."""
    is_declared: bool = True
    """Whether it is known that the tool destroys; else nobody has said what it does."""
    policy: str = ""
    """The policy that wants a person to agree, with its message; empty where none does."""
    differences: Sequence[Mapping[str, Mapping[str, Any]]] = ()
    """For its first targets: the fields that it would write, or of what it would destroy, `{field: {now, then}}`."""
    destroys: bool = True
    """Whether the tool destroys; else a person is asked because it or a policy asks."""

    @property
    def shown(self) -> tuple[str, ...] | None:
        """The digests of what a yes permits; None for a step that runs once and is shown as it is written."""
        if self.preview is None:
            return () if self.each else None
        return tuple(map(digest_of, self.preview.targets))

    def changed(self, place: int = 0) -> str:
        """Return the difference of a target, such as ` (state: "open" -> "closed")`; empty where there is none.

        Of a target that goes as a whole: what a person recognizes it by, such as ` (target: {"title":"Deploy"})`.
        """
        found = self.differences[place] if place < len(self.differences) else {}
        if found.keys() == {"target"} and isinstance(now := found["target"]["now"], Mapping):
            named = (self.preview.targets[place] if self.preview else self.targets).values()
            known = {name: value for name, value in now.items() if value not in named and not _says_nothing(value)}
            return f" (target: {_short(known)})" if known else ""
        pairs = ", ".join(f"{name}: {_short(one['now'])} -> {_short(one['then'])}" for name, one in found.items())
        return f" ({pairs})" if pairs else ""

    def as_dict(self) -> dict[str, Any]:
        """Return the use for a plan or an error."""
        step = {"line": self.line, "id": self.id} if self.id else {}
        fields = {**step, "tool": f"{self.module}.{self.tool}", "targets": dict(self.targets)}
        preview = self.preview.as_dict() if self.preview else None
        changed: Any = self.differences if self.each else next(iter(self.differences), {})
        undeclared = not self.is_declared
        more = {"each": self.each, "now": preview, "account": self.account, "undeclared": undeclared}
        more["policy"] = self.policy
        if any(self.differences):
            fields["differences" if self.each else "difference"] = changed
        return fields | {name: value for name, value in more.items() if value}

    def as_text(self, max_targets: int | None = None) -> str:
        """Return one line: `line 2, drop: tracker.delete_label {"name":"old"} (account: "octocat")`.

        A person reads the whole targets; `max_targets` cuts them to so many characters, for a message. Everything that
        somebody else wrote is JSON in one line, so it can be taken for none of our words.
        """
        targets = quote(self.targets)
        if max_targets is not None and len(targets) > max_targets:
            targets = f"{targets[:max_targets]}…"
        step = f"line {self.line}, {self.id}: " if self.id else ""
        each = f" for each of {quote(self.each)}" if self.each else ""
        unknown = " (which ones is not known yet: nothing is destroyed before it is shown)" if self.each else ""
        now = f" ({self.preview.as_text(self.changed)})" if self.preview else unknown
        account = "" if self.account is None else f" (account: {quote(self.account) if self.account else 'not known'})"
        changed = "" if self.preview else self.changed()
        undeclared = "" if self.is_declared else " (may change something)"
        policy = f" (policy {quote(self.policy)})" if self.policy else ""
        return f"{step}{self.module}.{self.tool} {targets}{each}{now}{changed}{account}{undeclared}{policy}"


@dataclass(frozen=True, slots=True)
class TargetPreview:
    """The values of the references of a step when the person is asked, from the reads before it."""

    targets: Sequence[Mapping[str, Any]]
    """The params with their values: of the step, or of the first elements of its list."""
    count: int | None = None
    """The number of elements; None for a step that runs once."""

    def as_dict(self) -> dict[str, Any]:
        """Return the preview for a plan or an error."""
        count = {} if self.count is None else {"count": self.count}
        return {"targets": [dict(each) for each in self.targets], **count}

    def as_text(self, changed: Callable[[int], str]) -> str:
        """Return e.g. `12 now, of which only these run: {"path":"a.md"} (target: {"title":"A"}), {"path":"b.md"}`."""
        shown = ", ".join(f"{quote(target)}{changed(place)}" for place, target in enumerate(self.targets))
        if self.count is None:
            return f"now {shown}"
        is_cut = self.count > len(self.targets)
        return f"{self.count} now{', of which only these run' if is_cut else ''}{': ' if shown else ''}{shown}"


def digest_of(params: Mapping[str, Any]) -> str:
    """Return a digest of a step's params with the values of their references."""
    return hashlib.sha256(json.dumps(params, sort_keys=True).encode(errors="replace")).hexdigest()[:32]


def quote(value: Any) -> str:
    """Return a foreign value as JSON in which nothing is hidden: no blanks, no markup and no control characters."""
    text = _MARKUP.sub(r"\\u003c", compact_json(value))
    return visible(_BLANKS.sub(_count_blanks, text))


def _says_nothing(value: Any) -> bool:
    return value in (None, "", [], {}) or (isinstance(value, str) and bool(_OPAQUE.fullmatch(value)))


def _short(value: Any) -> str:
    text = quote(value)
    return text if len(text) <= LONG_VALUE_CHARACTERS else f"{text[:LONG_VALUE_CHARACTERS]}…"


def _count_blanks(run: re.Match[str]) -> str:
    r"""Return e.g. `\u{20}[120]` for 120 blanks, which no JSON can say."""
    return f"\\u{{20}}[{len(run[0].replace(chr(92), ''))}]"


def order_targets(tool: Tool, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return params as a person should read them: what the tool requires first, and what is long last."""
    required = tool.input_schema.get("required", ())
    places = {name: place for place, name in enumerate(tool.input_schema.get("properties", ()))}

    def key(name: str) -> tuple[bool, bool, int]:
        is_long = len(compact_json(params[name])) > LONG_VALUE_CHARACTERS
        return is_long, name not in required, places.get(name, len(places))

    return {name: params[name] for name in sorted(params, key=key)}
