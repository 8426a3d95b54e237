"""Tables of a file of subscriptions: the targets, and what any table of the file may have in it.

Secrets stand in the environment: here are the names of its variables, and no message has what they hold.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NoReturn

import attrs

from cartesius.errors import CartesiusError, near
from dsl.alerts.messages import plain
from dsl.alerts.targets import Email, JsonLines, Webhook, address_of, is_local, server_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dsl.alerts.targets import Target

_SECRETS: Final = ("password", "token", "bearer", "secret", "authorization", "key", "api_key")
_KINDS: Final = {
    "webhook": ("webhook", "bearer_from"),
    "webhook_from": ("webhook_from", "bearer_from"),
    "email": ("email", "sender", "server", "user", "password_from", "plain"),
    "file": ("file",),
}
_WORD: Final = r"[^\s@<>,;:\"()\[\]\\]+"
_MAILBOX: Final = re.compile(rf"{_WORD}@({_WORD}|\[{_WORD}\])")


class InvalidSubscriptions(CartesiusError, ValueError):
    """A file of subscriptions means nothing, or has a secret in it: whoever wrote it can mend it."""


@attrs.frozen
class FileTables:
    """What reads the tables of a file, and says where in it something is wrong.

    Args:
        path: The file.
        environment: Where the secrets are.
    """

    path: Path
    environment: Mapping[str, str]

    def target(self, where: str, given: dict[str, Any]) -> Target:
        """Return the target of a table."""
        for secret in _SECRETS:
            if secret in given:
                fix = "put it into the environment, and here the name of its variable: "
                message = f"{self.path}: {where}: expected no secret in the file but there is {secret!r}; {fix}"
                problem = f'{message}{"password" if secret == "password" else "bearer"}_from = "NAME"'
                raise InvalidSubscriptions(problem)
        kinds = [kind for kind in _KINDS if kind in given]
        if len(kinds) != 1:
            self.refuse(where, f"one of {', '.join(_KINDS)}", kinds or list(given), "give one")
        kind = kinds[0]
        self.check_names(where, given, _KINDS[kind])
        if kind == "file":
            return JsonLines(self.path.parent / self.text(where, given, "file"))
        if kind == "email":
            return self._email(where, given)
        is_secret = kind == "webhook_from"
        url = self.variable(where, given, kind) if is_secret else self.text(where, given, kind)
        try:
            address = address_of(url, with_query=is_secret)
        except ValueError as error:  # which says nothing of the address itself: it may be a secret
            problem = f"{self.path}: {where}: {kind}: {error}"
            raise InvalidSubscriptions(problem) from None
        bearer = self.variable(where, given, "bearer_from") if "bearer_from" in given else None
        if (is_secret or bearer is not None) and not (address.is_encrypted or is_local(address.host)):
            self.refuse(where, "https where there is a secret", "http", "write https://…")
        return Webhook(address, bearer)

    def _email(self, where: str, given: dict[str, Any]) -> Email:
        sender, to = self._mailbox(where, given, "sender"), self._mailbox(where, given, "email")
        user = self.text(where, given, "user") if "user" in given else None
        if user is not None and not user.isascii():  # which smtplib sends
            self.refuse(where, "user to be of ASCII", user, "write the name that the server has in ASCII")
        password = self.variable(where, given, "password_from") if "password_from" in given else None
        if (user is None) != (password is None):
            self.refuse(where, "user and password_from together", sorted(given), "give both, or neither")
        is_plain = given.get("plain", False)
        if not isinstance(is_plain, bool):
            self.refuse(where, "plain = true or false", is_plain, "leave it out to use TLS")
        try:
            server = server_of(self.text(where, given, "server"))
        except ValueError as error:
            problem = f"{self.path}: {where}: server: {error}"
            raise InvalidSubscriptions(problem) from None
        if is_plain and password is not None and not is_local(server[0]):
            self.refuse(where, "TLS where there is a password", "plain = true", "leave out plain, or the password")
        return Email(to, sender, *server, is_plain=is_plain, user=user, password=password)

    def _mailbox(self, where: str, given: dict[str, Any], name: str) -> str:
        found = self.text(where, given, name)
        if not _MAILBOX.fullmatch(found) or not found.isascii():
            self.refuse(where, f"{name} to be an address", found, 'write it as "duty@port.example"')
        return found

    def variable(self, where: str, given: dict[str, Any], name: str) -> str:
        """Return a secret; no message ever has it."""
        variable = self.text(where, given, name)
        found = self.environment.get(variable)
        if not found:
            message = f"{self.path}: {where}: expected the environment to have {plain(variable)}, which {name} names"
            problem = f"{message}, but it is not set; set it, or leave {name} out"
            raise InvalidSubscriptions(problem)
        if not found.isascii() or not found.isprintable():
            message = f"{self.path}: {where}: expected {plain(variable)} in the environment to be one line of ASCII"
            problem = f"{message}; set it anew"
            raise InvalidSubscriptions(problem)
        return found

    def text(self, where: str, given: dict[str, Any], name: str) -> str:
        """Return a text in one line."""
        found = given.get(name)
        if not isinstance(found, str) or not found or not found.isprintable():
            self.refuse(where, f"{name} to be a text in one line", found, f'write {name} = "…"')
        return found

    def texts(self, where: str, given: dict[str, Any], name: str) -> tuple[str, ...]:
        """Return a list of texts, each once."""
        found = given.get(name)
        if not isinstance(found, list) or not found or not all(isinstance(each, str) for each in found):
            self.refuse(where, f"{name} to be a list of texts", found, f'write {name} = ["…"]')
        return tuple(dict.fromkeys(found))

    def check_names(self, where: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
        """Refuse what is not known."""
        for name in given:
            if name not in known:
                fix = near(name, list(known)).removeprefix("; ") or "leave it out"
                self.refuse(where, ", ".join(known), name, fix)

    def refuse(self, where: str, expected: str, got: object, fix: str) -> NoReturn:
        """Refuse the file."""
        shown = f"{plain(repr(got))} (type={type(got).__name__})"
        problem = f"{self.path}: {where}: expected {expected} but got {shown}; {fix}"
        raise InvalidSubscriptions(problem)
