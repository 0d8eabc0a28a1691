"""Failures of an exchange: signals to the caller, which turns them into typed errors."""


class ExchangeFailed(OSError):
    """No whole response: the name of the reason, and whether the service may have received the request."""

    def __init__(self, reason: str, *, sent: bool = True) -> None:
        super().__init__(f"no answer ({reason})")
        self.sent = sent


class ExchangeTimeout(ExchangeFailed):
    """No whole response before the deadline."""


class ResponseTooLarge(ExchangeFailed):
    """A response over the limit; it was not read to its end."""

    def __init__(self, status: int) -> None:
        super().__init__("its answer is too large")
        self.status = status


class UnsendableRequest(ExchangeFailed):
    """A request that HTTP cannot express."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, sent=False)
        self.reason = reason
