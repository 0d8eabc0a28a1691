"""The Markdown that `read` understands: markdown-it's CommonMark with tables, strikes and a few extensions.

Extensions: tasks, `<br>`, `<!-- not carried: name -->`, marks beside East Asian text (see `flanking`). Addresses are
kept as written. Cells beyond the head's last column are joined to that column. Footnotes are text, and so is nesting
beyond MAX_NESTING, where the library would drop the content.
"""

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import mdTrim
from markdown_it.parser_block import RuleFuncBlockType
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock, blockquote, list_block, reference, table
from markdown_it.rules_block.table import escapedSplit
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Scanned
from markdown_it.token import Token
from markdown_it.utils import EnvType

from mcpist.markdown.flanking import closes, opens
from mcpist.markdown.normal_form import MAX_NESTING

_TASK = re.compile(r"\[([ xX])\](?:[ \t\n]+|\Z)")
_TAG = re.compile(r"<[bB][rR] ?/?>|<!-- not carried:([^<>\n]*)-->")
_OPTIONS = {
    "html": False,
    "maxNesting": MAX_NESTING + 8,  # more than blocks can reach; only links in links do
    "inline_definitions": True,
    "store_labels": True,
}


@cache
def dialect(*, definitions: bool) -> MarkdownIt:
    """Return the parser, with or without link definitions (`[label]: address`)."""
    return _Dialect(definitions=definitions)


class _Dialect(MarkdownIt):
    def __init__(self, *, definitions: bool) -> None:
        super().__init__()
        self.inline = _Inline()
        self.configure("commonmark", _OPTIONS)
        self.enable(["table", "strikethrough"])
        self.disable(["html_block", "html_inline"] + ([] if definitions else ["reference"]))
        self.core.ruler.after("block", "task", _task)
        self.inline.ruler.before("autolink", "tag", _tag)
        at = self.block.ruler.at
        at("table", _table, {"alt": ["paragraph", "reference"]})
        at("reference", _definition)
        at("blockquote", _bounded(blockquote), {"alt": ["paragraph", "reference", "blockquote", "list"]})
        at("list", _bounded(list_block), {"alt": ["paragraph", "reference", "blockquote"]})

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link

    def validateLink(self, url: str) -> bool:  # noqa: N802, ARG002
        return True


class _Inline(ParserInline):
    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = _State(src, md, env, tokens)
        self.tokenize(state)
        for rule in self.ruler2.getRules(""):
            rule(state)
        return state.tokens


class _State(StateInline):
    def scanDelims(self, start: int, canSplitWord: bool) -> Scanned:  # noqa: N802, N803
        length = super().scanDelims(start, canSplitWord).length
        before = self.src[start - 1] if start else " "
        after = self.src[start + length] if start + length < self.posMax else " "
        delimiter = self.src[start]
        return Scanned(opens(delimiter, before, after), closes(delimiter, before, after), length)


def _task(state: StateCore) -> None:
    """Remove the box from a list item's first paragraph, and record in the item whether it is ticked."""
    for item, inside, text in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        in_item = item.type == "list_item_open" and inside.type == "paragraph_open"
        if in_item and (box := _TASK.match(text.content)):
            item.meta["done"] = box[1] != " "
            text.content = text.content[box.end() :]


def _tag(state: StateInline, silent: bool) -> bool:
    match = _TAG.match(state.src, state.pos, state.posMax)
    if not match:
        return False
    if not silent:
        token = state.push("hardbreak" if match[1] is None else "lost", "", 0)
        token.content = match[1] or ""
    state.pos = match.end()
    return True


def _definition(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    is_footnote = state.src.startswith("[^", state.bMarks[line] + state.tShift[line])
    return not is_footnote and reference(state, line, end, silent)


def _bounded(rule: RuleFuncBlockType) -> RuleFuncBlockType:
    def bounded(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        # While the parser only looks for the end of a paragraph, the next item of the deepest list must still end it.
        return (silent or state.level < MAX_NESTING) and rule(state, line, end, silent)

    return bounded


def _table(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    first = len(state.tokens)
    found = table(state, line, end, silent)
    cells: list[Token] = []
    for token in state.tokens[first:]:
        if token.type == "tr_open":
            cells = []
            texts = _cells(state, token.map[0] if token.map else line)
        elif token.type == "inline":
            cells.append(token)
        elif token.type == "tr_close" and len(texts) > len(cells):
            cells[-1].content = mdTrim("|".join(texts[len(cells) - 1 :]))
    return found


def _cells(state: StateBlock, line: int) -> list[str]:
    """Return all cells of a row, before the library's rule drops those beyond the head's last column."""
    texts = escapedSplit(mdTrim(state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]))
    return texts[texts[0] == "" : len(texts) - (texts[-1] == "")]
