"""The grammar of the commands that administer an organization: `org`, `user` and `role`."""

import argparse
from typing import Any

LIST: dict[str, Any] = {"type": lambda text: tuple(filter(None, map(str.strip, text.split(",")))), "metavar": "A,B"}
MASKS = "masks such as tracker.* or *.get_*, separated by commas"


def org(org: argparse.ArgumentParser) -> None:
    """`mcpist org`."""
    actions = org.add_subparsers(dest="action", required=True, metavar="ACTION")
    _action(actions, "list", "the organizations")
    create = _action(actions, "create", "create an organization; then give it an administrator with `user create`")
    create.add_argument("organization", metavar="ORG", help="its id")
    show = _action(actions, "show", "an organization with its roles and users")
    change = _action(actions, "set", "change an organization; switch tools off and on for everybody in it")
    export = _action(actions, "export", "write an organization down as YAML")
    for which in (show, change, export):
        which.add_argument("organization", nargs="?", metavar="ORG", help="default: the only one there is")
    export.add_argument("--file", help="where to write it (default: print it)")
    _set(change, "--name", help="what people call it")
    _set(change, "--disable", **LIST, help=f"switch these off: {MASKS}")
    _set(change, "--enable", **LIST, help="take these masks away again")
    create.add_argument("--name", required=True, help="what people call it")
    create.add_argument("--disabled", **LIST, default=(), help=f"tools switched off for everybody: {MASKS}")
    load = _action(actions, "import", "make an organization what a file says, and nothing else")
    load.add_argument("file", metavar="FILE", help="YAML as `export` writes it; - is standard input")
    for changing in (create, change, load):
        _rehearsed(changing)
    _grants(load)


def user(user: argparse.ArgumentParser) -> None:
    """`mcpist user`."""
    actions = user.add_subparsers(dest="action", required=True, metavar="ACTION")
    _action(actions, "list", "the users")
    for action, text in (("create", "add a user"), ("set", "change a user: only what is named changes")):
        changing = _named(actions, action, text)
        new = action == "create"
        _set(changing, "--name", required=new, help="what people call them")
        _set(changing, "--sub", required=new, help="their `sub` at the issuer, as in their tokens")
        _set(changing, "--issuer", help="their OIDC issuer's URL (default for a new one: that of all others)")
        _set(changing, "--system-role", choices=["admin", "user"], help="an admin administers the organization")
        _set(changing, "--roles", **LIST, help="their roles, in the order in which they count")
        _set(changing, "--locale", choices=["en", "ja"], dest="user_locale", help="language of errors")
        _rehearsed(changing)
    _named(actions, "show", "a user")
    _preview(_named(actions, "preview", "the tools that a user sees"))
    _grants(_rehearsed(_named(actions, "remove", "remove a user")))
    _organization(actions)


def role(role: argparse.ArgumentParser) -> None:
    """`mcpist role`."""
    actions = role.add_subparsers(dest="action", required=True, metavar="ACTION")
    _action(actions, "list", "the roles")
    for action, text in (("create", "add a role"), ("set", "change a role: only what is named changes")):
        changing = _named(actions, action, text)
        _set(changing, "--modules", **LIST, help="the modules that it has, separated by commas")
        _set(changing, "--allow", **LIST, help=f"tools besides those that read and reveal no secret: {MASKS}")
        _set(changing, "--deny", **LIST, help=f"tools that it has not, whatever else says so: {MASKS}")
        _set(changing, "--destructive", action=argparse.BooleanOptionalAction, help="whether it may destroy")
        _rehearsed(changing)
    _named(actions, "show", "a role, and who has it")
    _preview(_named(actions, "preview", "the tools that somebody with only this role sees"))
    _grants(_rehearsed(_named(actions, "remove", "remove a role that nobody has")))
    _organization(actions)


type Actions = argparse._SubParsersAction[Any]  # noqa: SLF001 - argparse has no other name for it


def _action(actions: Actions, name: str, text: str) -> argparse.ArgumentParser:
    """An action on the directory of some stack."""
    action: argparse.ArgumentParser = actions.add_parser(name, help=text, description=text)
    action.add_argument("--stack", help="a stack in AWS (default: the last `up`)")
    action.add_argument("--profile", help="the AWS profile to ask with")
    action.add_argument("--region", help="the stack's region (default: the profile's)")
    return action


def _named(actions: Actions, name: str, text: str) -> argparse.ArgumentParser:
    """An action on one user or role."""
    action = _action(actions, name, text)
    action.add_argument("id", metavar="ID")
    return action


def _organization(actions: Actions) -> None:
    for action in actions.choices.values():
        action.add_argument("--org", dest="organization", metavar="ORG", help="default: the only one there is")


def _set(changing: argparse.ArgumentParser, option: str, /, **about: Any) -> None:
    """An option that is absent from the options where it was not given."""
    changing.add_argument(option, **about, default=argparse.SUPPRESS)


def _rehearsed(action: argparse.ArgumentParser) -> argparse.ArgumentParser:
    action.add_argument("--dry-run", action="store_true", help="change nothing; show who would gain and lose what")
    return action


def _preview(action: argparse.ArgumentParser) -> None:
    action.add_argument("--tools", action="store_true", help="name every tool")


def _grants(action: argparse.ArgumentParser) -> None:
    text = "also forget the accounts that are connected for what is removed"
    action.add_argument("--with-grants", action="store_true", help=text)
