"""What the pages say, in English and Japanese."""

from dataclasses import dataclass

from mcpist.errors import Locale


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one language; braces are filled in."""

    language: str
    accounts: str
    accounts_lead: str
    none_here: str
    signed_in: str
    others_login: str
    back: str
    connect: str
    connect_lead: str
    reconnect: str
    reconnect_lead: str
    connected_as: str
    unnamed: str
    yours: str
    of_role: str
    of_person: str
    works: str
    fails: str
    missing: str
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
    go_on: str
    paste: str
    paste_note: str
    make_key: str
    key: str
    store_key: str
    no_way: str
    leaving: str
    leaving_note: str
    really: str
    replaces: str
    personal: str
    now: str
    then: str
    agree: str
    decline: str
    connected: str
    connected_note: str
    declined: str
    disconnected: str
    kept: str
    not_yours: str
    not_yours_note: str
    ended: str
    ended_note: str
    again: str
    failed: str
    which_organization: str
    not_logged_in: str


ENGLISH = Texts(
    language="en",
    accounts="Your accounts",
    accounts_lead="Your assistant uses these services as you. See, make and end connections here.",
    none_here="None of your roles uses a service that needs an account.",
    signed_in="{user} · {organization}",
    others_login="Log in as somebody else",
    back="All accounts",
    connect="Connect {service}",
    connect_lead="Then your assistant can use {service} as you. You can disconnect it here at any time.",
    reconnect="Connect again, or another account",
    reconnect_lead="When it no longer works, to allow more, or to change the account.",
    connected_as="Connected as {account}",
    unnamed="an account without a name",
    yours="Your own account",
    of_role="Account of the role {role}",
    of_person="A person's account: who uses it acts as this person",
    works="Connected",
    fails="Connect again",
    missing="Not connected",
    since="since {day}",
    used_for="Used for {services}",
    open_to="Open to {roles}",
    disconnect="Disconnect",
    disconnect_note="It is revoked at the service where that is possible, and deleted here.",
    for_whom="For whom?",
    for_me="For me",
    for_me_note="Only you act with it.",
    for_role="For a role",
    for_role_note="Everybody with the role acts with it, unless they connected an account of their own.",
    role="Role",
    which_services="What may it be used for?",
    which_roles="Which of your roles may use it?",
    which_roles_note="If you leave all of them, roles that you get later may use it, too.",
    go_on="Connect with {service}",
    paste="Paste a key instead",
    paste_note="It is tried at the service, and then kept encrypted. Nobody can read it again, nor can you.",
    make_key="Make a key at {service}",
    key="Key",
    store_key="Store the key",
    no_way="{service} is not set up here yet. Ask who runs this system to set it up.",
    leaving="On to {service}",
    leaving_note="If nothing happens, go on yourself.",
    really="Is this the account?",
    replaces="Another account is connected already. This one would take its place.",
    personal="This is a person's account. Everybody with the role {role} would act as this person.",
    now="Connected now",
    then="Afterwards",
    agree="Yes, use this account",
    decline="No, leave everything as it was",
    connected="Connected",
    connected_note="You can close this page and go back to your assistant.",
    declined="Nothing was connected: it was not allowed at the service.",
    disconnected="Disconnected. Within a minute, nothing uses it any more.",
    kept="Everything is as it was.",
    not_yours="This link is for somebody else",
    not_yours_note="It is for {wanted}, and you are logged in as {user}. Nothing was connected.",
    ended="Your login has ended",
    ended_note="For your safety it lasts a quarter of an hour. Nothing was changed.",
    again="Start again",
    failed="That did not work",
    which_organization="Which organization?",
    not_logged_in="You did not log in.",
)

JAPANESE = Texts(
    language="ja",
    accounts="接続しているアカウント",
    accounts_lead="アシスタントは、あなたとしてこれらのサービスを使います。接続、確認、解除ができます。",
    none_here="あなたのロールには、アカウントが必要なサービスはありません。",
    signed_in="{user} · {organization}",
    others_login="別のユーザーでログイン",
    back="アカウント一覧",
    connect="{service} を接続",
    connect_lead="接続すると、アシスタントがあなたとして {service} を使えます。いつでもここで解除できます。",
    reconnect="接続し直す・別のアカウントにする",
    reconnect_lead="使えなくなったとき、権限を増やすとき、アカウントを変えるときに。",
    connected_as="{account} として接続済み",
    unnamed="名前のないアカウント",
    yours="あなたのアカウント",
    of_role="ロール {role} のアカウント",
    of_person="個人のアカウントです。使う人はこの人として操作します",
    works="接続済み",
    fails="再接続が必要",
    missing="未接続",
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
    go_on="{service} で接続",
    paste="キーを貼り付ける",
    paste_note="サービスで確認してから暗号化して保存します。保存後は、あなたを含め誰も読み出せません。",
    make_key="{service} でキーを作る",
    key="キー",
    store_key="キーを保存",
    no_way="{service} はまだ設定されていません。このシステムの運用者に設定を依頼してください。",
    leaving="{service} に移動します",
    leaving_note="自動で移動しない場合は、押してください。",
    really="このアカウントでよいですか?",
    replaces="すでに別のアカウントが接続されています。これに置き換わります。",
    personal="これは個人のアカウントです。ロール {role} の全員が、この人として操作することになります。",
    now="現在の接続",
    then="接続後",
    agree="はい、このアカウントを使う",
    decline="いいえ、そのままにする",
    connected="接続しました",
    connected_note="このページを閉じて、アシスタントに戻れます。",
    declined="サービスで許可されなかったため、接続していません。",
    disconnected="接続を解除しました。1 分以内に使われなくなります。",
    kept="何も変更していません。",
    not_yours="このリンクは別の人のものです",
    not_yours_note="リンクは {wanted} のもので、あなたは {user} としてログインしています。何も接続していません。",
    ended="ログインの有効期限が切れました",
    ended_note="安全のため、ログインは 15 分で切れます。何も変更していません。",
    again="最初からやり直す",
    failed="うまくいきませんでした",
    which_organization="どの組織ですか?",
    not_logged_in="ログインしませんでした。",
)

TEXTS: dict[Locale, Texts] = {"en": ENGLISH, "ja": JAPANESE}
