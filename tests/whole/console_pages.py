"""The pages of the console that every check of the browser runs over: a new page is one line here.

`{batch}` in a path stands for a batch of the user, of a step `look`, `{approval}` for a request that waits.
"""

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
    ConsolePage("/workbench?q=list+documents", "Tools that fit", "合うツール"),
    ConsolePage("/workbench?add=rag.search_docs", "Apply and check", "反映して確認"),
    ConsolePage("/search?q=list", "What are you looking for?", "何を探していますか"),
    ConsolePage("/tools", "What do you want to do?", "何をしたいですか"),
    ConsolePage("/tools?tool=rag.search_docs", "How it is called", "呼び出し方"),
    ConsolePage("/batches", "Graphs of tool calls", "ツール呼び出しのグラフ"),
    ConsolePage("/batches?id={batch}", "Timeline", "タイムライン"),
    ConsolePage("/batches?id={batch}&step=look", "list_tags", "list_tags"),
    ConsolePage("/tools?connect=github", "Connect GitHub", "GitHub を接続"),
    ConsolePage("/automations", "Saved batches that run", "保存"),
    ConsolePage("/changes", "kept for 30 days", "30 日間記録"),
    ConsolePage("/approvals", "until a person has decided", "人が決めるまで"),
    ConsolePage("/approvals?id={approval}", "exactly as shown", "表示どおりに"),
    ConsolePage("/files", "Large results", "保存された大きな結果"),
    ConsolePage("/connect", "Your accounts", "接続しているアカウント"),
    ConsolePage("/connect/github", "Connect GitHub", "GitHub を接続"),
    ConsolePage("/adoption", "Adoption in the last four weeks", "直近四週間の利用状況", administrators=True),
    ConsolePage("/logs", "Logs", "ログ", administrators=True),
    ConsolePage("/users", "Users", "ユーザー", administrators=True),
    ConsolePage("/users?id=uma", "Last activity", "最近の利用", administrators=True),
    ConsolePage("/users?new=1", "Add a user", "ユーザーを追加", administrators=True),
    ConsolePage("/users?program=1", "Address of its keys", "鍵 (JWKS) のアドレス", administrators=True),
    ConsolePage("/users?invite=1", "Make the link", "リンクを作成", administrators=True),
    ConsolePage("/roles", "Roles", "ロール", administrators=True),
    ConsolePage("/roles?id=members", "Remove the role", "ロールを削除", administrators=True),
    ConsolePage("/roles?id=members&module=github", "All that read", "読み取るものすべて", administrators=True),
    ConsolePage("/roles?id=members&tab=accounts", "Everybody with this role", "このロールの人", administrators=True),
    ConsolePage("/policies", "Policies", "ポリシー", administrators=True),
    ConsolePage("/roles?id=members&calls=1", "successful calls", "成功した呼び出し", administrators=True),
    ConsolePage("/directory", "Okta, Entra or another", "Okta、Entra などのディレクトリ", administrators=True),
    ConsolePage("/modules", "Modules", "モジュール", administrators=True),
    ConsolePage("/modules?new=1", "For your organization alone", "この組織だけで使われます", administrators=True),
    ConsolePage("/profile", "Sign out everywhere", "すべてのブラウザーでサインアウト"),
)
