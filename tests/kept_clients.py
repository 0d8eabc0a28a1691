"""Clients of AWS that outlive a test: making one takes as much CPU as several requests, and many tests make three."""

import os
from contextlib import suppress
from functools import cache
from typing import Any

import boto3
import botocore.session
from botocore.loaders import Loader
from botocore.retries.standard import RetryQuotaChecker

type Environment = tuple[tuple[str, str], ...]


def keep_clients(session: Any, loader: Loader) -> None:
    """Let a session hand out a kept client where it would make another one of its kind.

    The client has the handlers that were registered at this session, and none of former tests. A second client of a
    kind is made anew, since two sandboxes share none.
    """
    make, handlers, given = session.create_client, Handlers(session.get_component("event_emitter")), set[str]()

    def create_client(service: str, region_name: str | None = None, *, config: Any = None, **options: Any) -> Any:
        options["region_name"] = region_name
        environment = tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_")))
        chosen = sorted(config._user_provided_options.items()) if config else None
        kind = repr((service, chosen, sorted(options.items()), environment))
        if kind in given:
            return make(service, config=config, **options)
        given.add(kind)
        if kind not in _kept:
            _kept[kind] = KeptClient(_session(loader, environment).create_client(service, config=config, **options))
        return _kept[kind].with_handlers(handlers)

    session.create_client = create_client


class Handlers:
    """Notes what is registered at an emitter of events, and removes it."""

    def __init__(self, emitter: Any) -> None:
        self._emitter = emitter
        self._noted: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = []
        for name in ("register", "register_first", "register_last"):
            setattr(emitter, name, self._noting(name))

    def _noting(self, name: str) -> Any:
        register = getattr(self._emitter, name)

        def note(*arguments: Any, **options: Any) -> None:
            register(*arguments, **options)
            self._noted.append((name, arguments, options))

        return note

    def register_at(self, emitter: Any) -> None:
        """Register at another emitter what is registered here."""
        for name, arguments, options in self._noted:
            getattr(emitter, name)(*arguments, **options)

    def remove(self) -> None:
        """Remove what is still registered."""
        for _, arguments, options in self._noted:
            with suppress(ValueError):  # removed by who registered it
                self._emitter.unregister(*arguments, **options)
        self._noted.clear()


class KeptClient:
    """A client, and what tests change of it."""

    def __init__(self, client: Any) -> None:
        self._client, self._quotas = client, quotas_of(client)
        self._handlers = Handlers(client.meta.events)

    def with_handlers(self, handlers: Handlers) -> Any:
        """Return it as if it were new, with these handlers."""
        self._handlers.remove()
        handlers.register_at(self._client.meta.events)
        for quota in self._quotas:
            quota.release(quota._max_capacity)
        return self._client


_kept: dict[str, KeptClient] = {}


@cache
def _session(loader: Loader, environment: Environment) -> Any:  # noqa: ARG001 - it reads its environment once
    """Return the session that makes kept clients in an environment; nothing else is registered at it."""
    session = botocore.session.get_session()
    boto3.Session(botocore_session=session)  # adds to some clients what boto3's have
    session.register_component("data_loader", loader)
    return session


def quotas_of(client: Any) -> list[Any]:
    """Return what limits a client's retries, which are fewer after each."""
    event = f"after-call.{client.meta.service_model.service_id.hyphenize()}"
    handlers = client.meta.events._emitter._handlers.prefix_search(event)
    checks = [getattr(handler, "__self__", None) for handler in handlers]
    return [check._quota for check in checks if isinstance(check, RetryQuotaChecker)]
