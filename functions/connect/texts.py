"""The texts of the pages, in English and Japanese."""

from dataclasses import dataclass

from mcpist.errors import Locale


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one language, in the order of the pages; placeholders are in braces."""

    language: str
    accounts: str
    accounts_lead: str
    no_services: str
    signed_in: str
    other_login: str
    back: str
    connect: str
    connect_lead: str
    reconnect: str
    reconnect_lead: str
    connected_as: str
    unnamed_account: str
    own_account: str
    role_account: str
    person_account: str
    status_works: str
    status_fails: str
    status_missing: str
    since: str
    used_for: str
    open_to: str
    disconnect: str
    disconnect_note: str
    for_whom: str
    for_me: str
    for_me_note: str
    for_role: str
    for_role_note: str
    role: str
    which_services: str
    which_roles: str
    which_roles_note: str
    connect_with: str
    paste: str
    paste_note: str
    make_key: str
    key: str
    store_key: str
    not_set_up: str
    leaving: str
    leaving_note: str
    confirm_account: str
    replaces: str
    personal: str
    account_before: str
    account_after: str
    agree: str
    decline: str
    connected: str
    connected_note: str
    declined: str
    disconnected: str
    unchanged: str
    wrong_person: str
    wrong_person_note: str
    login_ended: str
    login_ended_note: str
    again: str
    failed: str
    which_organization: str
    not_logged_in: str


ENGLISH = Texts(
    language="en",
    accounts="Your accounts",
    accounts_lead="Your assistant uses these services on your behalf. You can connect and disconnect accounts here.",
    no_services="None of your roles uses a service that needs an account.",
    signed_in="{user} · {organization}",
    other_login="Log in as another person",
    back="All accounts",
    connect="Connect {service}",
    connect_lead="Your assistant can then use {service} on your behalf. You can disconnect it here at any time.",
    reconnect="Connect again, or another account",
    reconnect_lead="If it no longer works, to allow more, or to use another account.",
    connected_as="Connected as {account}",
    unnamed_account="an account without a name",
    own_account="Your own account",
    role_account="Account of the role {role}",
    person_account="A person's account: everyone who uses it acts as this person",
    status_works="Connected",
    status_fails="Connect again",
    status_missing="Not connected",
    since="since {day}",
    used_for="Used for {services}",
    open_to="Open to {roles}",
    disconnect="Disconnect",
    disconnect_note="It is revoked at the service if possible, and deleted here.",
    for_whom="For whom?",
    for_me="For me",
    for_me_note="Only you use it.",
    for_role="For a role",
    for_role_note="Everybody with this role uses it, unless they have connected their own account.",
    role="Role",
    which_services="What may it be used for?",
    which_roles="Which of your roles may use it?",
    which_roles_note="If you leave all selected, roles that you get later may use it too.",
    connect_with="Connect with {service}",
    paste="Paste a key instead",
    paste_note="It is tested at the service and then stored encrypted. Nobody can read it again, including you.",
    make_key="Create a key at {service}",
    key="Key",
    store_key="Store the key",
    not_set_up="{service} is not set up here yet. Ask the operator of this system to set it up.",
    leaving="Continue to {service}",
    leaving_note="If nothing happens, use the button.",
    confirm_account="Is this the account?",
    replaces="Another account is already connected. This one would replace it.",
    personal="This is a person's account. Everybody with the role {role} would act as this person.",
    account_before="Connected now",
    account_after="Afterwards",
    agree="Yes, use this account",
    decline="No, change nothing",
    connected="Connected",
    connected_note="You can close this page and go back to your assistant.",
    declined="Nothing was connected: access was not allowed at the service.",
    disconnected="Disconnected. It is no longer used after one minute at the latest.",
    unchanged="Nothing was changed.",
    wrong_person="This link is for another person",
    wrong_person_note="It is for {intended}, and you are logged in as {user}. Nothing was connected.",
    login_ended="Your login has ended",
    login_ended_note="For your safety a login lasts 15 minutes. Nothing was changed.",
    again="Start again",
    failed="That did not work",
    which_organization="Which organization?",
    not_logged_in="You did not log in.",
)

JAPANESE = Texts(
    language="ja",
    accounts="接続しているアカウント",
    accounts_lead="アシスタントは、あなたとしてこれらのサービスを使います。接続、確認、解除ができます。",
    no_services="あなたのロールには、アカウントが必要なサービスはありません。",
    signed_in="{user} · {organization}",
    other_login="別のユーザーでログイン",
    back="アカウント一覧",
    connect="{service} を接続",
    connect_lead="接続すると、アシスタントがあなたとして {service} を使えます。いつでもここで解除できます。",
    reconnect="接続し直す・別のアカウントにする",
    reconnect_lead="使えなくなったとき、権限を増やすとき、アカウントを変えるときに。",
    connected_as="{account} として接続済み",
    unnamed_account="名前のないアカウント",
    own_account="あなたのアカウント",
    role_account="ロール {role} のアカウント",
    person_account="個人のアカウントです。使う人はこの人として操作します",
    status_works="接続済み",
    status_fails="再接続が必要",
    status_missing="未接続",
    since="{day} から",
    used_for="用途: {services}",
    open_to="使えるロール: {roles}",
    disconnect="接続を解除",
    disconnect_note="可能な場合はサービス側でも取り消し、ここから削除します。",
    for_whom="誰のために接続しますか?",
    for_me="自分用",
    for_me_note="あなただけが使います。",
    for_role="ロール用",
    for_role_note="自分のアカウントを接続していない、このロールの全員が使います。",
    role="ロール",
    which_services="何に使いますか?",
    which_roles="どのロールで使いますか?",
    which_roles_note="すべて選ぶと、後から加わるロールでも使えます。",
    connect_with="{service} で接続",
    paste="キーを貼り付ける",
    paste_note="サービスで確認してから暗号化して保存します。保存後は、あなたを含め誰も読み出せません。",
    make_key="{service} でキーを作る",
    key="キー",
    store_key="キーを保存",
    not_set_up="{service} はまだ設定されていません。このシステムの運用者に設定を依頼してください。",
    leaving="{service} に移動します",
    leaving_note="自動で移動しない場合は、押してください。",
    confirm_account="このアカウントでよいですか?",
    replaces="すでに別のアカウントが接続されています。これに置き換わります。",
    personal="これは個人のアカウントです。ロール {role} の全員が、この人として操作することになります。",
    account_before="現在の接続",
    account_after="接続後",
    agree="はい、このアカウントを使う",
    decline="いいえ、そのままにする",
    connected="接続しました",
    connected_note="このページを閉じて、アシスタントに戻れます。",
    declined="サービスで許可されなかったため、接続していません。",
    disconnected="接続を解除しました。1 分以内に使われなくなります。",
    unchanged="何も変更していません。",
    wrong_person="このリンクは別の人のものです",
    wrong_person_note="リンクは {intended} のもので、あなたは {user} としてログインしています。何も接続していません。",
    login_ended="ログインの有効期限が切れました",
    login_ended_note="安全のため、ログインは 15 分で切れます。何も変更していません。",
    again="最初からやり直す",
    failed="うまくいきませんでした",
    which_organization="どの組織ですか?",
    not_logged_in="ログインしませんでした。",
)

TEXTS: dict[Locale, Texts] = {"en": ENGLISH, "ja": JAPANESE}
