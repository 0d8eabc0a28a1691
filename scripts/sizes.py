"""`python -m scripts.sizes`: the product's size, and what keeps a newcomer from reading it; `--check` fails on faults.

Faults are a class name that stands for two things, a constant with two values, a file without a docstring, and a
docstring that begins with a riddle ("What ...", "Who ...").
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from statistics import mean, median
from tokenize import COMMENT, generate_tokens

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("functions", "layers/core", "layers/services", "infra")
DECLARATIONS = {"reads", "lists", "writes", "asks", "destroys"}
SMALL_FILE_LINES = 40
RIDDLE = re.compile(r"(?:Return |Yield )?(?:What|Who|Whom|Whose|That which|How it|Where it)\b", re.IGNORECASE)
# Comments that speak to a tool, not to a reader.
PRAGMA = re.compile(r"#\s*(?:noqa|type:|nosec|fmt:|pragma)")

type Function = ast.FunctionDef | ast.AsyncFunctionDef
type Size = tuple[int, str]
type Trees = Mapping[str, ast.Module]


def main() -> None:
    """Print one table of sizes, and the faults; with `--check` exit with these."""
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in _files()}
    trees = {file: ast.parse(text) for file, text in texts.items()}
    _print_sizes(texts, trees)
    found = faults(trees)
    print(f"{len(found)} faults")
    if "--check" in sys.argv[1:]:
        sys.exit("\n".join(found) or None)
    print("\n".join(f"    {fault}" for fault in found))


def faults(trees: Trees) -> list[str]:
    """Return what is to be corrected, each with its places."""
    classes: defaultdict[str, list[str]] = defaultdict(list)
    constants: defaultdict[str, dict[object, str]] = defaultdict(dict)
    for file, tree in trees.items():
        for node in tree.body:
            match node:
                case ast.ClassDef(name=name) if not name.startswith("_"):
                    classes[name].append(file)
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)) if name.isupper():
                    constants[name].setdefault(value, file)
    return [
        *(f"class {name}: {', '.join(files)}" for name, files in sorted(classes.items()) if len(files) > 1),
        *(
            f"constant {name}: {', '.join(f'{value!r} in {file}' for value, file in values.items())}"
            for name, values in sorted(constants.items())
            if len(values) > 1
        ),
        *(f"{file} has no docstring" for file, tree in trees.items() if not ast.get_docstring(tree)),
        *(f"{place}: {text}" for place, text in _docstrings(trees) if RIDDLE.match(text)),
    ]


def _docstrings(trees: Trees) -> Iterator[tuple[str, str]]:
    """Yield the first line of each docstring, with its place."""
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
                text := ast.get_docstring(node)
            ):
                yield f"{file}:{getattr(node, 'lineno', 1)}", text.partition("\n")[0]


def _print_sizes(texts: Mapping[str, str], trees: Trees) -> None:
    functions = {f"{file}:{node.lineno} {node.name}": node for file, tree in trees.items() for node in _functions(tree)}
    tools = {place: node for place, node in functions.items() if _is_tool(place, node)}
    lines = [line for text in texts.values() for line in text.splitlines()]
    small = sum(text.count("\n") < SMALL_FILE_LINES for file, text in texts.items() if not file.endswith("__init__.py"))
    comments = sum(map(_comment_lines, texts.values()))
    print(f"{len(texts)} files, {len(lines)} lines; {small} files under {SMALL_FILE_LINES} lines")
    print(f"{comments / len(lines):.1%} of the lines have a comment; a line has {mean(map(len, lines)):.1f} characters")
    print(f"{'':28}{'count':>7}{'lines':>8}{'median':>8}{'mean':>7}{'p95':>6}{'max':>6}{'over 8':>8}{'over 25':>9}")
    _print("files", [(text.count("\n"), file) for file, text in texts.items()])
    _print("functions", [(_lines(node), place) for place, node in functions.items()])
    _print("tools without decorators", [(_lines(node), place) for place, node in tools.items()])
    _print("tools with decorators", [(_lines(node, decorators=True), place) for place, node in tools.items()])


def _files() -> Iterator[Path]:
    """The Python files of the product, without what a build adds."""
    for folder in FOLDERS:
        yield from (path for path in sorted((ROOT / folder).rglob("*.py")) if "build" not in path.parts)


def _functions(tree: ast.Module) -> Iterable[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _is_tool(place: str, node: Function) -> bool:
    """Whether a function of a service has a decorator such as `@tracker.reads(...)`."""
    names = {ast.unparse(decorator.func) for decorator in node.decorator_list if isinstance(decorator, ast.Call)}
    return place.startswith("layers/services") and any(name.rpartition(".")[2] in DECLARATIONS for name in names)


def _comment_lines(text: str) -> int:
    tokens = generate_tokens(StringIO(text).readline)
    return sum(token.type == COMMENT and not PRAGMA.match(token.string) for token in tokens)


def _lines(node: Function, *, decorators: bool = False) -> int:
    """The lines from `def` to the end, or from the first decorator."""
    start = min(part.lineno for part in (node, *(node.decorator_list if decorators else [])))
    return (node.end_lineno or start) - start + 1


def _print(name: str, sizes: Sequence[Size]) -> None:
    lines = sorted(size for size, _ in sizes)
    middle, p95 = median(lines), lines[int(len(lines) * 0.95)]
    counts = f"{sum(size > 8 for size in lines):8}{sum(size > 25 for size in lines):9}"
    print(f"{name:28}{len(lines):7}{sum(lines):8}{middle:8g}{mean(lines):7.1f}{p95:6}{lines[-1]:6}{counts}")
    for size, place in sorted(sizes, reverse=True)[:3]:
        print(f"    {size:4} {place}")


if __name__ == "__main__":
    main()
