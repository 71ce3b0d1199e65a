"""`mixable serve`."""

from __future__ import annotations

import contextlib
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixable._config import one_blas_thread
from mixable.cli.consoles import Messages
from mixable.cli.kinds import columns_of, declaring, names_of
from mixable.events.files import StreamError, open_standard_descriptors
from mixable.learner import design_of_classes

if TYPE_CHECKING:
    import uvicorn

    from mixable.events.serve.guard import Guard
    from mixable.events.serve.service import Service
    from mixable.records import Columns

LOCAL = ("127.0.0.1", "localhost", "::1")
GRACE = 10  # seconds that requests have to end, once a stop is requested


@declaring
def run_serve(
    *,
    model: Annotated[Path, typer.Argument(help="The folder of the models: made on first use.")],
    host: Annotated[str, typer.Option(help="Another than 127.0.0.1 needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 8000,
    token: Annotated[
        str | None, typer.Option(help="What clients must know; others can read it in `ps`.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file whose first line is the token.")
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(help="All labels of new models, by commas; otherwise added as they come."),
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="The features of new models, by commas; otherwise all.")
    ] = None,
    declared: dict[str, str | None],
    curved: Annotated[
        bool | None,
        typer.Option("--curved/--linear", help="Whether new models learn curves: they do."),
    ] = None,
    begin: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A saved model that new models begin with: of mixable stream, of mixable serve, "
            "or a GAFClassifier.",
        ),
    ] = None,
    remember: Annotated[
        int, typer.Option(min=0, help="Forecasts of a model that may wait for their label.")
    ] = 10_000,
    most_features: Annotated[int, typer.Option(min=1, help="Features of a model.")] = 2000,
    most_classes: Annotated[int, typer.Option(min=2, help="Classes of a model.")] = 100,
    most_models: Annotated[int, typer.Option(min=1, help="Models.")] = 1000,
    in_memory: Annotated[int, typer.Option(min=1, help="Models in memory at one time.")] = 100,
    largest_body: Annotated[int, typer.Option(min=1000, help="Bytes of a request.")] = 2**20,
    seconds: Annotated[float, typer.Option(min=0.05, help="Seconds between checkpoints.")] = 10.0,
) -> None:
    """Forecast over HTTP, learn when labels come, lose nothing, and show a page of it."""
    messages = Messages()
    try:
        from mixable.events.events import ModelLimits, RefusedError
        from mixable.events.serve.app import make_app
        from mixable.events.serve.model import ServedModel
        from mixable.events.serve.service import Limits, Service
    except ModuleNotFoundError as error:
        messages.fail(f'{error.name} is missing: pip install "mixable[serve]"')
        raise typer.Exit(2) from None
    with messages.failing(ValueError, MemoryError, where=model):
        open_standard_descriptors()
        secret = _token(token, token_file)
        if host not in LOCAL and secret is None:
            raise StreamError(f"--host {host} needs --token-file or --token: others can reach it")
        known, columns = names_of(classes, "--classes"), names_of(features, "--features")
        kinds = columns_of(declared)
        if begin is not None and (known or columns or kinds or curved is not None):
            own = "classes, features, kinds and curves of its own"
            raise StreamError(f"--from has {own}; leave them out")
        if model.is_file():
            raise StreamError(f"{model} is a file; mixable serve FOLDER --from {model} serves it")
        fixed = dict.fromkeys(("lam", "beta", "alpha", "drift"))
        kernel = None if curved is False else "auto"
        design = design_of_classes(None, fixed, kernel=kernel, features=(200, None, "fourier"))

        def make(own: Columns | None) -> ServedModel:
            if begin is None:
                return ServedModel(design, classes=known, features=columns, columns=own or kinds)
            if own is not None:
                raise RefusedError(422, "new models begin with one that has kinds of its own")
            return ServedModel.begun_from(begin)

        if begin is not None:
            ServedModel.begun_from(begin)  # refuse it now, not when the first model is made
        per_model = ModelLimits(features=most_features, classes=most_classes, waiting=remember)
        limits = Limits(
            model=per_model,
            models=most_models,
            in_memory=in_memory,
            body=largest_body,
            bulk=max(largest_body, Limits.bulk),
        )
        # Bits depend on the number of threads.
        with one_blas_thread(), contextlib.closing(_bound(host, port)) as sock:
            service = Service(model, make, limits=limits, seconds=seconds, say=messages.say)
            where = f"[{host}]" if ":" in host else host
            address = f"http://{where}:{sock.getsockname()[1]}/"
            messages.say(f"{model} is served at {address} (Ctrl-C ends it)")
            _run(make_app(service, secret), service, sock)
            if service.unsaved:
                names = ", ".join(service.unsaved)
                messages.say(f"stopped; the journal has what could not be saved in {names}")
            else:
                messages.say("stopped; everything is saved")


def server_config(app: Guard, service: Service) -> uvicorn.Config:
    """How uvicorn serves."""
    import uvicorn

    from mixable.events.serve.guard import connections

    return uvicorn.Config(
        app,
        http=connections(service.limits),  # type: ignore[arg-type]
        port=0,
        proxy_headers=False,
        access_log=False,
        log_level="warning",
        lifespan="on",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=4 * service.limits.requests,
        ws="none",
    )


def _run(app: Guard, service: Service, sock: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    import uvicorn

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: Any) -> None:
            service.closing = True  # ends what watches, which would go on for ever
            super().handle_exit(sig, frame)

    # uvicorn sends itself the signal again when it is done: that must not end us with an error.
    before = {n: signal.signal(n, lambda *_: None) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        Server(server_config(app, service)).run(sockets=[sock])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        made = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise StreamError(f"cannot listen at {host}:{port}: {error.strerror}") from None
    # asyncio sends small answers at once only if it is told the protocol: without, each waits
    # some 40 ms for the client to confirm the part before.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, made.detach())


def _token(text: str | None, path: Path | None) -> str | None:
    if text is not None and path is not None:
        raise StreamError("--token and --token-file are two tokens; give one")
    if path is not None:
        text = path.read_text(encoding="utf-8", errors="replace").partition("\n")[0].strip()
    if text is not None and (len(text) < 8 or not text.isascii() or not text.isprintable()):
        raise StreamError("a token must have 8 characters or more, all of them printable ASCII")
    return text
