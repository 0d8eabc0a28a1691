"""What an operation is named that changes something where its path or its method says otherwise."""

from typing import Any

from mcpist.tools.declare.tool import Effect
from tests.faults import for_each
from tests.services.described.library import one_operation, overlay_of

ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}


@for_each(
    "method, path, stated, name, effect",
    {
        "a GET that purges": ("get", "/zones/{id}/purge_cache", {}, "purge_cache", "destroys"),
        "its summary": ("get", "/zones/{id}/purge_cache", {"summary": "Purges files"}, "purge_cache", "destroys"),
        "a POST that purges": ("post", "/zones/{id}/purge_cache", {}, "purge_cache", "destroys"),
        "one word": ("post", "/cache/purge", {"summary": "Purge the cache"}, "purge_cache", "destroys"),
        "camel case": ("get", "/purgeCache", {"operationId": "purgeCache"}, "purge_cache", "destroys"),
        "a password": ("get", "/users/{id}/reset_password", {}, "reset_password", "destroys"),
        "no noun": ("post", "/reset", {}, "reset_all", "destroys"),
        "a restart": ("get", "/jobs/{id}/restart", {"summary": "Restart a job"}, "restart_job", "destroys"),
        "a read of it": (
            "get",
            "/zones/{id}/purge_cache",
            {"summary": "Get the purge cache status"},
            "get_purge_cache",
            "reads",
        ),
        "a noun": ("get", "/books/{id}/releases", {}, "get_releases", "reads"),
    },
)
def test_an_operation_is_named_by_what_it_does(
    method: str, path: str, stated: dict[str, Any], name: str, effect: Effect
) -> None:
    stated = stated | ({"parameters": [ID]} if "{id}" in path else {})
    ((found, rule),) = overlay_of(one_operation(method, path, **stated)).tools.items()
    assert (found, rule.effect) == (name, effect)
    assert method == "post" or effect == "reads" or rule.review
