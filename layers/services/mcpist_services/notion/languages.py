"""The languages of Notion's code blocks, by the names that people write after a fence.

Reference: https://developers.notion.com/reference/block#code
"""

PLAIN = "plain text"

_ONE_WORD_NAMES = """\
abap abc agda arduino assembly bash basic bnf c c# c++ clojure coffeescript coq css dart dhall diff docker ebnf elixir
elm erlang f# flow fortran gherkin glsl go graphql groovy haskell hcl html idris java javascript json julia kotlin latex
less lisp livescript lua makefile markdown markup matlab mathematica mermaid nix objective-c ocaml pascal perl php
powershell prolog protobuf purescript python r racket reason ruby rust sass scala scheme scss shell smalltalk solidity
sql swift toml typescript vb.net verilog vhdl webassembly xml yaml java/c/c++/c#"""
_TWO_WORD_NAMES = ("ascii art", "llvm ir", "notion formula", PLAIN, "visual basic")
_ALIASES = {
    "console": "shell",
    "cpp": "c++",
    "cs": "c#",
    "csharp": "c#",
    "dockerfile": "docker",
    "fsharp": "f#",
    "golang": "go",
    "hs": "haskell",
    "js": "javascript",
    "jsonc": "json",
    "jsx": "javascript",
    "kt": "kotlin",
    "make": "makefile",
    "math": "latex",
    "md": "markdown",
    "objc": "objective-c",
    "proto": "protobuf",
    "ps1": "powershell",
    "py": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "shell",
    "svg": "xml",
    "terraform": "hcl",
    "tex": "latex",
    "tf": "hcl",
    "ts": "typescript",
    "tsx": "typescript",
    "vb": "visual basic",
    "wasm": "webassembly",
    "yml": "yaml",
    "zsh": "shell",
}

LANGUAGES = {**_ALIASES, **{name: name for name in _ONE_WORD_NAMES.split()}, **{name: name for name in _TWO_WORD_NAMES}}


def language_of(name: str) -> str:
    """Return Notion's name of a language; plain text for one that it does not know."""
    words = name.strip().lower()
    return LANGUAGES.get(words) or LANGUAGES.get(words.partition(" ")[0], PLAIN)
