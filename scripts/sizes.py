"""`python -m scripts.sizes`: the sizes of the product's files, functions and tools, in lines."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("functions", "layers/core", "layers/services", "infra")
DECLARATIONS = {"reads", "lists", "writes", "destroys"}

type Function = ast.FunctionDef | ast.AsyncFunctionDef
type Size = tuple[int, str]


def main() -> None:
    """Print one table: how many there are, how long they are, and the longest."""
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in _files()}
    functions = {f"{file}:{node.lineno} {node.name}": node for file, text in texts.items() for node in _functions(text)}
    tools = {place: node for place, node in functions.items() if _is_tool(place, node)}
    print(f"{'':28}{'count':>7}{'lines':>8}{'median':>8}{'mean':>7}{'p95':>6}{'max':>6}{'over 8':>8}{'over 25':>9}")
    _print("files", [(text.count("\n"), file) for file, text in texts.items()])
    _print("functions", [(_lines(node), place) for place, node in functions.items()])
    _print("tools without decorators", [(_lines(node), place) for place, node in tools.items()])
    _print("tools with decorators", [(_lines(node, decorators=True), place) for place, node in tools.items()])


def _files() -> Iterator[Path]:
    """The Python files of the product, without what a build adds."""
    for folder in FOLDERS:
        yield from (path for path in sorted((ROOT / folder).rglob("*.py")) if "build" not in path.parts)


def _functions(text: str) -> Iterator[Function]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _is_tool(place: str, node: Function) -> bool:
    """Whether a function of a service has a decorator such as `@tracker.reads(...)`."""
    names = {ast.unparse(decorator.func) for decorator in node.decorator_list if isinstance(decorator, ast.Call)}
    return place.startswith("layers/services") and any(name.rpartition(".")[2] in DECLARATIONS for name in names)


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
