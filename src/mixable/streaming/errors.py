"""What ends a stream, in one line."""


class StreamError(ValueError):
    """What the user has to mend: an option, a file, or a bad event where none may be."""


class BadEventError(StreamError):
    """A bad event, where none may be; all before it has been answered and learned."""
