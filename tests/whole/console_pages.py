"""The pages of the console that every check of the browser runs over: a new page is one line here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConsolePage:
    """A page, and what a person who may see it reads on it."""

    path: str
    english: str
    japanese: str
    administrators: bool = False
    """Whether others are refused."""


PAGES = (
    ConsolePage("/", "Welcome", "ようこそ"),
    ConsolePage("/connect", "Your accounts", "接続しているアカウント"),
    ConsolePage("/connect/github", "Connect GitHub", "GitHub を接続"),
    ConsolePage("/profile", "Sign out everywhere", "すべてのブラウザーでサインアウト"),
)
