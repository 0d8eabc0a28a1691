"""Names: of an operation as a tool, the name that a person would choose: a verb and a noun, e.g. `list_issues`.

The verb is the summary's, the noun the path's as far as the summary or the operation's id use the same words.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256

from mcpist_services.definitions import MAX_FULL_NAME_CHARACTERS
from mcpist_services.described.description import Operation
from mcpist_services.described.effects import ends_in_action
from mcpist_services.described.paths import path_parameters, plain_path, skeleton
from mcpist_services.described.wording import actions, base_verb, listed, plain, plural, singular, word_lists, words

MAX_NOUN_WORDS = 4

_WORDS = word_lists("names")
_VERBS = {word: verb for verb, given in word_lists("verbs").items() for word in given.split()}
_OTHER_VERBS = listed(_WORDS["other_verbs"])
_ACTIONS = actions()
_PATH_ACTIONS = _OTHER_VERBS | listed("get list find search create insert edit delete remove update")
_READING_ACTIONS = listed(_WORDS["reading_actions"])
_ADJECTIVES = listed(_WORDS["adjectives"])
_STOP_WORDS = listed(_WORDS["stop_words"])
_ENDS = listed(_WORDS["ends"])
_NO_NOUN = re.compile(r"^(api|rest|graphql|wiki|me|v?\d+(\.\d+)*|v\d+\w*|\d.*)$", re.IGNORECASE)
_VERSION = re.compile(r"^v\d+[-_./]")
_LISTS_OF = {("list", "of"), ("collection", "of"), ("set", "of")}


def propose_names(
    module: str, operations: Mapping[str, tuple[Operation, bool]], taken: Mapping[str, str]
) -> dict[str, str]:
    """Return a name for each operation, by its key; those in `taken` keep theirs. The flag says that it is a list."""
    left = {key: _Namer(*one) for key, one in operations.items() if key not in taken}
    patched = {namer.path for namer in left.values() if namer.method == "PATCH"}
    for namer in left.values():
        if namer.method == "PUT" and namer.verb == "update" and namer.path in patched:
            namer.verb = "replace"  # beside PATCH, which changes what it is given
    names = dict(taken)
    used = set(names.values())
    for level in range(4):
        proposed = {key: _fitting(module, namer.name(level)) for key, namer in left.items()}
        count = Counter(proposed.values())
        settled = {key: name for key, name in proposed.items() if count[name] == 1 and name not in used}
        bare = {} if level else _shortest(left, proposed, used | set(settled.values()))
        names |= settled | bare
        used |= set(settled.values()) | set(bare.values())
        left = {key: namer for key, namer in left.items() if key not in names}
    for key, namer in left.items():
        name, number = _fitting(module, namer.name(1)), 2
        while f"{name}_{number}" in used:
            number += 1
        names[key] = _fitting(module, f"{name}_{number}")
        used.add(names[key])
    return names


def _shortest(left: "Mapping[str, _Namer]", proposed: Mapping[str, str], used: Collection[str]) -> dict[str, str]:
    """Return, of the operations that would share a name, the one whose path is shorter than the others'."""
    sharing: dict[str, list[str]] = {}
    for key, name in proposed.items():
        sharing.setdefault(name, []).append(key)
    found: dict[str, str] = {}
    for name, keys in sharing.items():
        lengths = sorted((left[key].length, key) for key in keys)
        if len(keys) > 1 and name not in used and lengths[0][0] < lengths[1][0]:
            found[lengths[0][1]] = name
    return found


def _fitting(module: str, name: str) -> str:
    """Return a name that is legal, and short enough beside its module's."""
    name = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "call"
    name = name if name[0].isalpha() else f"call_{name}"
    room = MAX_FULL_NAME_CHARACTERS - 1 - len(module)
    if len(name) <= room:
        return name
    mark = sha256(name.encode()).hexdigest()[:4]
    return f"{name[: room - 5].rstrip('_')}_{mark}"


class _Namer:
    """The names that one operation could have, from the shortest to the longest."""

    def __init__(self, operation: Operation, is_list: bool) -> None:
        self.method = operation.method
        self.path = operation.path
        self._operation = operation
        self._is_list = is_list
        path, _, variant = operation.path.partition("#")
        segments = [segment for segment in plain_path(path).split("/") if segment]
        self.length = len(segments)
        self._is_item = not variant and bool(segments) and bool(path_parameters(segments[-1]))
        nouns = [segment for segment in segments if not path_parameters(segment) and not _NO_NOUN.match(segment)]
        dotted = [part for noun in nouns for part in noun.split(".")]
        self._nouns = [words(noun) for noun in [*dotted, *([variant] if variant else [])]]
        self._nouns = [noun for noun in self._nouns if noun] or [["root"]]
        text = plain(operation.summary or operation.description.partition("\n")[0])
        said = words(re.sub(r"\[[^\]]*\]|\([^)]*\)", " ", text))[:12]
        self._summary = said[1:] if len(said) > 1 and said[0].endswith("ly") else said
        self.verb, self._noun, self._before = self._parts()

    def name(self, level: int) -> str:
        """Return the name with as much before its noun as the level says; the last level is the operation's id."""
        if self._operation.document:
            return "_".join(words(self.path.partition("#")[2]))  # vendors name fields as people would, verb and all
        if level == 3 and self._operation.id:
            return "_".join(words(_VERSION.sub("", self._operation.id)))
        before = self._before[-level:] if level else []
        kept = [word for noun in before for word in _singular(noun) if word not in self._noun]
        return "_".join([self.verb, *kept, *self._noun])

    def _parts(self) -> tuple[str, list[str], list[list[str]]]:
        """Return the verb, the words of the noun, and what may stand before it to tell it from others."""
        last = self._nouns[-1]
        actions = _READING_ACTIONS if self.method == "GET" else _PATH_ACTIONS
        if (last[0] in actions or ends_in_action(self._operation)) and not self._is_item:
            return self._by_action(last)
        stated, *phrase = self._summary or [""]
        stated = base_verb(stated, _ACTIONS)
        own, *rest = self._own_phrase() or [""]
        if own:
            return own, (_noun_of(rest)[0] or last), self._nouns[:-1]
        verb = self._settled(_VERBS.get(stated, stated if stated in _OTHER_VERBS else ""))
        if len(last) == 1 and last[0] in _ADJECTIVES and len(self._nouns) > 1:
            return verb, [*last, *_singular(self._nouns[-2])], self._nouns[:-2]
        noun, tail = _noun_of(phrase if stated in _ACTIONS else self._summary)
        if self._is_evident(last) and singular(last[-1]) != verb and not self._only_tells_which(noun):
            noun = [*_singular(self._nouns[-2]), *last] if self._qualifies() else last
            return verb, self._numbered(verb, noun), self._nouns[:-1]
        if not noun:
            return verb, self._numbered(verb, last), self._nouns[:-1]
        if verb == "list":
            noun = [*noun[:-1], plural(noun[-1])]
        return verb, noun, [*self._nouns, *([tail] if tail else [])]

    def _own_phrase(self) -> list[str]:
        """Return the words of a verb of the vendor's own and its object: `lendBook`, "Lend a book"; else none."""
        method, identifier = self._operation.method.lower(), words(self._operation.id)
        nouns = {singular(word) for noun in self._nouns for word in noun}
        if method == "get" or len(identifier) < 2 or identifier[0] in {*_ACTIONS, *nouns, method}:
            return []
        if self._summary[:1] == identifier[:1]:
            return self._summary
        return [] if self._summary or not nouns.issuperset(map(singular, identifier[1:])) else identifier

    def _by_action(self, last: list[str]) -> tuple[str, list[str], list[list[str]]]:
        """Name an operation whose path ends in what it does: `/pulls/{number}/merge`, `/chat.postMessage`."""
        verb = _VERBS.get(last[0], last[0])
        if len(last) > 1:
            return verb, last[1:], self._nouns[:-1]
        before = self._nouns[-2] if len(self._nouns) > 1 else []
        if verb in {"search", "list"} or not before:
            noun = before or _noun_of(self._summary[1:])[0]
            return verb, [*noun[:-1], plural(noun[-1])] if noun else ["all"], self._nouns[:-2]
        return verb, _singular(before), self._nouns[:-2]

    def _settled(self, verb: str) -> str:
        """Return the verb; where the summary has none, or only says that it gets something, the method's."""
        method = self._operation.method
        if method == "PUT" and self._summary[:3] == ["create", "or", "update"]:
            return "put"
        if method == "GET" and verb in {"", "get", "list"}:
            return "list" if self._is_list and not self._is_item else "get"
        if method == "GET" and verb in {"create", "update", "delete"}:
            return "get"
        if verb and not (method == "DELETE" and verb == "get"):
            return verb
        return {"POST": "create", "PUT": "update", "PATCH": "update", "DELETE": "delete"}.get(method, "get")

    def _is_evident(self, noun: Iterable[str]) -> bool:
        """Whether the texts of the operation use the words of a noun; without any text they need not."""
        identifier = [word for word in words(self._operation.id) if word != "id"]
        path = words(skeleton(self._operation.path))
        made = identifier in (path, [self._operation.method.lower(), *path])  # it says no more than the path
        known = {singular(word) for word in [*self._summary, *([] if made else identifier)]}
        return not known or {singular(word) for word in noun} <= known

    def _only_tells_which(self, noun: list[str]) -> bool:
        """Whether the last noun tells which of the one before it: `/templates/global`, "List global templates"."""
        if len(self._nouns) < 2 or not noun or self._is_item:
            return False
        said = {singular(word) for word in noun}
        before = {singular(word) for word in self._nouns[-2]}
        return singular(noun[-1]) != singular(self._nouns[-1][-1]) and before <= said

    def _qualifies(self) -> bool:
        """Whether the summary has the path's noun before this one directly before it too: `issue comments`."""
        if len(self._nouns) < 2 or self._nouns[-2][0] in _ACTIONS:
            return False
        phrase = " ".join(singular(word) for word in self._summary)
        both = " ".join(singular(word) for word in [*self._nouns[-2], *self._nouns[-1]])
        return f" {both}" in f" {phrase}" and self._nouns[-2][-1] != self._nouns[-1][-1]

    def _numbered(self, verb: str, noun: list[str]) -> list[str]:
        if verb == "list":
            return [*noun[:-1], plural(noun[-1])]
        if verb in {"create", "add"} or self._is_item:
            return [*noun[:-1], singular(noun[-1])]
        return noun


def _noun_of(phrase: list[str]) -> tuple[list[str], list[str]]:
    """Return the words that a summary is about, and those after them that say of which: `versions`, `of a file`."""
    phrase = phrase[next((place + 1 for place in (1, 2) if tuple(phrase[place - 1 : place + 1]) in _LISTS_OF), 0) :]
    begun = next((place for place, word in enumerate(phrase) if word not in _STOP_WORDS), len(phrase))
    end = next((place for place, word in enumerate(phrase) if word in _ENDS and place > begun), len(phrase))
    noun = [word for word in phrase[:end] if word not in _STOP_WORDS or (word == "information" and phrase[0] != word)]
    while len(noun) > 1 and noun[-1] in {"information", "id", "details", "data"}:
        noun.pop()
    tail = [word for word in phrase[end:] if word not in _STOP_WORDS | _ENDS]
    return noun[:MAX_NOUN_WORDS], tail[:2]


def _singular(noun: list[str]) -> list[str]:
    return [*noun[:-1], singular(noun[-1])]
