"""A store on loopback that answers every read with one item."""

from collections.abc import Iterator
from contextlib import contextmanager

from infra.local.server import LoopbackResponse, LoopbackServer, listen

ANSWER = b'{"Item": {"pk": {"S": "a"}, "sk": {"S": "b"}, "n": {"N": "1"}}}'


@contextmanager
def serving_item(answer: bytes = ANSWER) -> Iterator[str]:
    """Yield the address of the store while it runs."""
    listener = listen("127.0.0.1", 0)
    with LoopbackServer(listener, lambda _: LoopbackResponse(200, (), answer)):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
