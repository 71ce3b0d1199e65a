"""`mixable serve`."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mixable._config import one_blas_thread
from mixable.cli.consoles import Messages
from mixable.cli.options import model_options, with_model_options
from mixable.events.files import StreamError, open_standard_descriptors

if TYPE_CHECKING:
    import uvicorn

    from mixable.events.serve.guard import Guard
    from mixable.events.serve.service import Service
    from mixable.events.serve.worker import Worker

LOCAL = ("127.0.0.1", "localhost", "::1")
PAUSE = 0.2  # seconds until a process that was killed has a successor
GRACE = 10  # seconds that requests have to end, once a stop is requested


@with_model_options
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
    given: dict[str, Any],
    begin: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A saved model that new models begin with: of mixable stream, of mixable serve, "
            "a GAFClassifier or a GAFRegressor.",
        ),
    ] = None,
    most_models: Annotated[int, typer.Option(min=1, help="Models.")] = 1000,
    in_memory: Annotated[int, typer.Option(min=1, help="Models in memory at one time.")] = 100,
    largest_body: Annotated[int, typer.Option(min=1000, help="Bytes of a request.")] = 2**20,
    seconds: Annotated[float, typer.Option(min=0.05, help="Seconds between checkpoints.")] = 10.0,
    versions: Annotated[
        int, typer.Option(min=1, help="Checkpoints of a model that can be rolled back to.")
    ] = 5,
    workers: Annotated[
        int,
        typer.Option(min=0, max=64, help="Processes that only forecast, at the port after this."),
    ] = 0,
    log: Annotated[
        Path | None, typer.Option(help="A file to add each request to, a line of JSON.")
    ] = None,
    keep: Annotated[
        str, typer.Option(help="How much of the log: all, days (30d), hours (12h), or events.")
    ] = "1000000",
) -> None:
    """Forecast over HTTP, learn when outcomes come, lose nothing, and show a page of it."""
    messages = Messages()
    try:
        from mixable.events.beginning import begun_from
        from mixable.events.serve.app import make_app
        from mixable.events.serve.service import Service
        from mixable.events.serve.shown import Limits
        from mixable.events.serve.worker import Worker
        from mixable.events.store import Keep
    except ModuleNotFoundError as error:
        messages.fail(f'{error.name} is missing: pip install "mixable[serve]"')
        raise typer.Exit(2) from None
    with messages.failing(ValueError, MemoryError, where=model):
        open_standard_descriptors()
        secret = _token(token, token_file)
        if host not in LOCAL and secret is None:
            raise StreamError(f"--host {host} needs --token-file or --token: others can reach it")
        options = model_options(given)
        if begin is not None:
            if given:
                name = next(iter(given)).replace("_", "-")
                raise StreamError(f"--from has options of its own; leave --{name} out")
            begun_from(begin)  # refuse it now, not when the first model is made
        if model.is_file():
            raise StreamError(f"{model} is a file; mixable serve FOLDER --from {model} serves it")
        limits = Limits(
            models=most_models,
            in_memory=in_memory,
            body=largest_body,
            bulk=max(largest_body, Limits.bulk),
            versions=versions,
        )
        kept = Keep.read(keep)
        # Bits depend on the number of threads.
        with one_blas_thread(), contextlib.ExitStack() as stack:
            sock = stack.enter_context(contextlib.closing(_bound(host, port)))
            where = f"[{host}]" if ":" in host else host
            address = f"http://{where}:{sock.getsockname()[1]}/"
            if workers:
                parent = os.getpid()

                def worker() -> Worker:
                    return Worker(model, address, parent, limits=limits, say=messages.say)

                shared = stack.enter_context(
                    contextlib.closing(_bound(host, port and port + 1, shared=True))
                )
                stack.callback(_end, [_forked(worker, secret, shared) for _ in range(workers)])
            service = Service(
                model,
                options,
                begin=begin,
                limits=limits,
                seconds=seconds,
                keep=kept,
                say=messages.say,
            )
            messages.say(f"{model} is served at {address} (Ctrl-C ends it)")
            if workers:
                beside = f"http://{where}:{shared.getsockname()[1]}/"
                several = "es" if workers > 1 else ""
                messages.say(f"{workers} process{several} that can only forecast, at {beside}")
            _run(make_app(service, secret, log), service, sock)


def server_config(app: Guard, service: Service | Worker) -> uvicorn.Config:
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


def _run(app: Guard, service: Service | Worker, sock: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C."""
    import uvicorn

    from mixable.events.serve.worker import Worker

    class Server(uvicorn.Server):
        async def on_tick(self, counter: int) -> bool:
            # A worker whose parent was killed goes on until another process learns.
            if counter % 10 == 0 and isinstance(service, Worker) and service.is_replaced:
                service.closing = self.should_exit = True
            ended: bool = await super().on_tick(counter)
            return ended

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


def _forked(worker: Callable[[], Worker], secret: str | None, sock: socket.socket) -> int:
    """Begin a process that keeps one that only forecasts; its number. Both outlive this one, if
    that is killed, until another one learns.
    """
    from mixable.events.serve.app import make_app

    keeper = os.fork()
    if keeper:
        return keeper
    child, status = 0, 1

    def end(*_: Any) -> None:
        _end([child])
        os._exit(0)

    while status:  # one that was killed has a successor
        child = os.fork()
        if not child:
            try:
                service = worker()
                _run(make_app(service, secret), service, sock)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        _, status = os.waitpid(child, 0)
        time.sleep(PAUSE if status else 0)
    os._exit(0)


def _end(processes: list[int]) -> None:
    """End processes, and wait for them."""
    for each in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGTERM)
    for each in processes:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(each, 0)


def _bound(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """A socket that listens; a shared one also if processes of before still do."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        made = socket.create_server((host, port), family=family, backlog=2048, reuse_port=shared)
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
