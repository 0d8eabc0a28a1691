"""The context of a Lambda invocation."""


class Context:
    """The part of Lambda's context that handlers read."""

    def __init__(self, seconds: float = 29, request: str = "request-1") -> None:
        self.seconds = seconds
        self.aws_request_id = request

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)
