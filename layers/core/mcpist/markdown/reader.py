"""From Markdown to the tree; Markdown that the tree cannot hold becomes literal text.

Raw HTML, footnotes and unused link definitions are kept as they were written. The title of a link or an image follows
it in parentheses, and a link around pictures only follows them. Layout is dropped: whether a list is loose, and the
alignment of a table's columns.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token

from mcpist.markdown import tree
from mcpist.markdown.dialect import dialect
from mcpist.markdown.flanking import SPACES
from mcpist.markdown.normal_form import MENTION, normalize, single_line

_MARKS: dict[str, tree.Mark] = {"strong": "strong", "em": "emphasis", "s": "strike"}
_MAX_REPEATED_CHARACTERS = 100_000  # characters that uses of link definitions may add to the text's own length


def read(text: str) -> tree.Blocks:
    """Return the tree of a Markdown text, in its normal form; every text has one."""
    tokens = dialect(definitions=True).parse(text)
    referring = list(_referring(tokens))
    repeated_characters = sum(len(str(value)) for token in referring for value in token.attrs.values())
    if repeated_characters > len(text) + _MAX_REPEATED_CHARACTERS:
        tokens, referring = dialect(definitions=False).parse(text), []
    labels = {token.meta["label"] for token in referring}
    return normalize(_blocks(iter(_without_used_definitions(tokens, labels))))


def _referring(tokens: Iterable[Token]) -> Iterator[Token]:
    """Return the links and images that take their address from a definition."""
    for token in tokens:
        if "label" in token.meta:
            yield token
        yield from _referring(token.children or ())


def _without_used_definitions(tokens: Iterable[Token], labels: set[str]) -> Iterator[Token]:
    """Return the lines without the definitions that links use: of several with one label, the first."""
    for token in tokens:
        if token.type == "definition" and token.meta["id"] in labels:
            labels.remove(token.meta["id"])
        else:
            yield token


def _blocks(tokens: Iterator[Token]) -> tree.Blocks:
    """Read blocks up to the end of their container."""
    return tuple(_blocks_until_closed(tokens))


def _blocks_until_closed(tokens: Iterator[Token]) -> Iterator[tree.Block]:
    for token in tokens:
        if token.nesting < 0:
            return
        yield _block(token, tokens)


def _block(token: Token, tokens: Iterator[Token]) -> tree.Block:
    match token.type:
        case "paragraph_open":
            return tree.Paragraph(_runs(tokens))
        case "heading_open":
            return tree.Heading(int(token.tag[1:]), _runs(tokens))
        case "fence" | "code_block":
            return tree.Code(token.content.removesuffix("\n"), unescapeAll(token.info))
        case "blockquote_open":
            return tree.Quote(_blocks(tokens))
        case "bullet_list_open":
            return tree.List(tuple(_items(tokens)))
        case "ordered_list_open":
            return tree.List(tuple(_items(tokens)), int(token.attrs.get("start", 1)))
        case "table_open":
            return tree.TableBlock(tuple(_rows(tokens)))
        case "definition":
            return tree.Paragraph((tree.TextRun(_definition(token)),))
        case _:
            return tree.Rule()


def _items(tokens: Iterator[Token]) -> Iterator[tree.Item]:
    for token in tokens:
        if token.type != "list_item_open":
            return
        yield tree.Item(_blocks(tokens), token.meta.get("done"))


def _rows(tokens: Iterator[Token]) -> Iterator[tuple[tree.Runs, ...]]:
    cells: list[tree.Runs] = []
    for token in tokens:
        match token.type:
            case "th_open" | "td_open":
                cells.append(_runs(tokens))
            case "tr_close":
                yield tuple(cells)
                cells = []
            case "table_close":
                return


def _definition(token: Token) -> str:
    title = f' "{token.meta["title"]}"' if token.meta["title"] else ""
    return single_line(f"[{token.meta['label']}]: {token.meta['url']}{title}")


def _runs(tokens: Iterator[Token]) -> tree.Runs:
    """Read the runs of the block that was just opened, and its end."""
    inline, _ = next(tokens), next(tokens)
    runs: list[tree.Run] = []
    marks: Counter[tree.Mark] = Counter()
    links: list[Token] = []  # more than one is an autolink inside a link's text, which is text there
    begin = 0
    for token in inline.children or ():
        if token.type == "link_open":
            begin = begin if links else len(runs)
            links.append(token)
        elif token.type == "link_close":
            link = links.pop()
            runs[begin:] = runs[begin:] if links else _link(runs[begin:], link)
        elif token.tag in _MARKS:
            marks[_MARKS[token.tag]] += token.nesting
        else:
            style = frozenset(mark for mark, depth in marks.items() if depth)
            runs += _leaf(token, style, str(links[0].attrs["href"]) if links else "")
    return tuple(runs)


def _leaf(token: Token, marks: frozenset[tree.Mark], link: str) -> list[tree.Run]:
    match token.type:
        case "code_inline":
            return [tree.TextRun(token.content, marks | {"code"}, link)]
        case "softbreak":
            return [tree.TextRun(" ", marks, link)]
        case "hardbreak":
            return [tree.Break()]
        case "lost":
            return [tree.Unsupported(token.content)]
        case "image":
            return [tree.Image(str(token.attrs["src"]), _alt(token.children or ())), *_title(token)]
        case _:
            return [tree.TextRun(token.content, marks, link)]


def _link(runs: list[tree.Run], link: Token) -> list[tree.Run]:
    """Return a link's runs: a mention's text as one run, and the address where a link has no text."""
    address = str(link.attrs["href"])
    texts = [run for run in runs if isinstance(run, tree.TextRun) and ("code" in run.marks or run.text.strip(SPACES))]
    if address.startswith(MENTION):
        name = "".join(run.text for run in runs if isinstance(run, tree.TextRun))
        others = [run for run in runs if not isinstance(run, tree.TextRun)]
        runs = [*others, *([tree.TextRun(name, link=address)] if texts else [])]
    return [*runs, *([] if texts else [tree.TextRun(address, link=address)]), *_title(link)]


def _title(token: Token) -> list[tree.Run]:
    title = single_line(str(token.attrs.get("title", "")))
    return [tree.TextRun(f" ({title})")] if title else []


def _alt(tokens: Iterable[Token]) -> str:
    """Return an image's alternative text: the text in its brackets."""
    return "".join(
        " "
        if "break" in token.type
        else f"<!-- not carried:{token.content}-->"
        if token.type == "lost"
        else _alt(token.children or ())
        if token.type == "image"
        else token.content
        for token in tokens
    )
