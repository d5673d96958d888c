# SPDX-License-Identifier: Apache-2.0
"""The page, the live stream of releases, metrics and health over HTTP, for reading only.

Contract: GET and HEAD only, no cookies, nothing from elsewhere: a strict Content-Security-Policy on every answer. `/`
is the page, `/v1/feed` all frames as server-sent events, `/v1/streams/NAME/releases` the records of one stream alone,
as events or as one JSON document (release_list.py). Events resume after Last-Event-ID, of a live deployment at any
worker, and `?for=QUESTION` shapes their estimates for a kind of question (shaped.py).
`/query?q=sum of NAME over last 1h` answers from the releases so far (aggregators/queries). `/metrics`
is for Prometheus, `/healthz` says that the process lives, `/readyz` that it works. A server has the routes of what it
is given. A refusal is JSON with one line that says what is allowed. On a loopback address only requests to a local name
are answered, so that no page from elsewhere reads a replay's truth by rebinding its name. Not here: which worker serves
what (serving.py), and who may read (the address one listens on, or a proxy, decides).
"""

import ipaddress
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import resources

from aiohttp import web
from aiohttp_sse import sse_response
from prometheus_client import CollectorRegistry
from prometheus_client.aiohttp import make_aiohttp_handler

from murmurate.agents.observe.health import Probe, alive
from murmurate.agents.web.errors import ListenError, QueryError
from murmurate.agents.web.feed import KEEP, Feed, FeedReader
from murmurate.agents.web.release_list import release_list, wants_list
from murmurate.agents.web.report import SCRIPTS
from murmurate.agents.web.shaped import OF_SHAPES, Shape, asked_shape
from murmurate.aggregators.queries import QueryRefusedError
from murmurate.aggregators.queries.answers import MAX_USERS

HEARTBEAT_S = 2.0
"""A page says that the connection is lost after three of them; proxies drop a silent one after 30 to 60 s."""
RETRY_MS = 1000
FILES = {"index.html": "text/html", "style.css": "text/css", **dict.fromkeys(SCRIPTS, "text/javascript")}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
VARY = {"Vary": "Accept"}
"""This header is on every answer that depends on the format that a reader accepts."""
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A server that answers. It runs until it is stopped."""

    url: str
    """Where the page is."""
    runner: web.AppRunner

    async def stop(self) -> None:
        """End every stream and close the port."""
        await self.runner.cleanup()


async def serve(
    feed: Feed | None, host: str = "127.0.0.1", port: int = 8000, *,
    metrics: CollectorRegistry | None = None, ready: Probe | None = None, edge_page: Callable[[], str] | None = None,
    heartbeat_s: float = HEARTBEAT_S,
) -> RunningServer:  # fmt: skip
    """A server of a feed's page or the edge's own, of metrics, of readiness; port 0 takes any free one. ListenError if
    the address cannot be had.
    """
    app = Routes(_is_local(host), feed, metrics, ready, heartbeat_s, edge_page).app()
    # A reader who leaves ends its handler at once; one who stays has a second to hear the end.
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except (OSError, OverflowError) as error:
        await runner.cleanup()
        number = error.errno if isinstance(error, OSError) else None
        reason = os.strerror(number) if number and number > 0 else str(error)
        raise ListenError(
            f"web: cannot listen on {host}:{port}: {reason.lower()}; allowed: a free port of this machine, 0 for any"
        ) from None
    bound = runner.addresses[0]
    return RunningServer(f"http://{_reachable(str(bound[0]))}:{bound[1]}", runner)


class Routes:
    """The routes over what there is."""

    def __init__(
        self, local: bool, feed: Feed | None, metrics: CollectorRegistry | None, ready: Probe | None,
        heartbeat_s: float, edge_page: Callable[[], str] | None = None,
    ) -> None:  # fmt: skip
        self._local, self._metrics, self._ready, self._edge_page = local, metrics, ready, edge_page
        self._pages = Pages(feed, heartbeat_s=heartbeat_s) if feed is not None else None
        self._served: list[str] = []

    def app(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(middlewares=[self._refusals])
        if self._pages is not None:
            self._served += self._pages.add(app)
        if self._edge_page is not None:
            self._add(app, "/", self._edge)
        self._add(app, "/healthz", self._alive)
        if self._ready is not None:
            self._add(app, "/readyz", self._readyz)
        if self._metrics is not None:
            self._add(app, "/metrics", make_aiohttp_handler(self._metrics))
        app.on_response_prepare.append(_harden)
        return app

    def _add(self, app: web.Application, path: str, handler: _Handler) -> None:
        app.router.add_get(path, handler)
        self._served.append(path)

    async def _alive(self, request: web.Request) -> web.Response:
        return web.json_response(alive())

    async def _edge(self, request: web.Request) -> web.Response:
        assert self._edge_page is not None  # noqa: S101 - the route is there
        return web.Response(text=self._edge_page(), content_type="text/html", charset="utf-8")

    async def _readyz(self, request: web.Request) -> web.Response:
        assert self._ready is not None  # noqa: S101 - the route is there
        found = self._ready()
        return web.json_response(found.said, status=200 if found.ready else 503)

    @web.middleware
    async def _refusals(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        if self._local and not _names_this_machine(request.host):
            return _refusal(421, "found a request to another host; allowed: localhost or a loopback address")
        try:
            return await handler(request)
        except (QueryError, QueryRefusedError) as error:
            return _refusal(400, str(error))
        except web.HTTPMethodNotAllowed:
            return _refusal(405, "found another method; allowed: GET, HEAD")
        except web.HTTPNotFound:
            return _refusal(404, f"found no such page; allowed: {', '.join(self._served)}")


class Pages:
    """The page of one feed, and what it reads."""

    def __init__(self, feed: Feed, *, heartbeat_s: float) -> None:
        self._feed, self._heartbeat_s = feed, heartbeat_s
        self._followers: set[FeedReader] = set()
        static = resources.files("murmurate.agents.web") / "static"
        self._files = {name: (static / name).read_text(encoding="utf-8") for name in FILES}

    def add(self, app: web.Application) -> list[str]:
        """Give these routes to an application: which ones."""
        get = app.router.add_get
        get("/", self._file)
        get("/{name:[a-z]+[.](?:css|js)}", self._file)
        get("/favicon.ico", self._nothing)
        get("/v1/feed", self._frames)
        get("/v1/streams/{stream}/releases", self._releases)
        get("/query", self._answer)
        app.on_shutdown.append(self._close)
        return ["/", "/v1/feed", "/v1/streams/NAME/releases", "/query?q=QUESTION"]

    async def _file(self, request: web.Request) -> web.Response:
        name = request.match_info.get("name", "index.html")
        if name not in FILES:
            raise web.HTTPNotFound
        return web.Response(text=self._files[name], content_type=FILES[name], charset="utf-8")

    async def _nothing(self, request: web.Request) -> web.Response:
        """No icon, and no complaint about it in the browser's console."""
        return web.Response(status=204)

    async def _frames(self, request: web.Request) -> web.StreamResponse:
        shape = asked_shape(request.query)
        _query(request)
        return await self._send(request, self._resumed(request) or 0, "", shape)

    async def _releases(self, request: web.Request) -> web.StreamResponse:
        stream = request.match_info["stream"]
        if not self._feed.started:
            return _refusal(503, "no stream has begun yet; ask again in a second", retry=True)
        if stream not in self._feed.streams:
            known = list(self._feed.streams)
            return _refusal(404, f"found no stream of that name; allowed: {', '.join(known)}", streams=known)
        shape, listed = asked_shape(request.query), wants_list(request)
        last = _query(request, "last", texts=("format", "since") if listed else ("format",)).get("last")
        if listed:
            body = release_list(self._feed, stream, last, request.query.get("since"), shape)
            return web.Response(body=body, content_type="application/json", charset="utf-8", headers=VARY)
        after = self._resumed(request)
        if after is None:
            after = 0 if last is None else self._feed.before_last(stream, last)
        return await self._send(request, after, stream, shape)

    async def _answer(self, request: web.Request) -> web.Response:
        """The answer to one question, in its canonical bytes; what is no question is refused."""
        said = dict(request.query)
        if len(said) != len(request.query) or not {"q"} <= said.keys() <= {"q", "users", "running"}:
            raise QueryError("query: found other parameters; allowed: q once, users and running at most once")
        users, running = said.get("users"), said.get("running", "0")
        if users is not None and not (users.isascii() and users.isdigit() and len(users) <= len(str(MAX_USERS))):
            raise QueryError(f"query: users: found {users[:64]!r}; allowed: a whole number from 1 to {MAX_USERS}")
        if running not in ("0", "1"):
            raise QueryError(f"query: running: found {running[:64]!r}; allowed: 0 or 1")
        found = self._feed.answer(said["q"], users=None if users is None else int(users), running=running == "1")
        return web.Response(body=found.canonical(), content_type="application/json", charset="utf-8")

    async def _send(self, request: web.Request, after: int, stream: str, shape: Shape) -> web.StreamResponse:
        """Server-sent events until the run or the server ends."""
        if self._feed.ended and after >= self._feed.last:
            return web.Response(status=204)  # tells an EventSource that resumes that there is no more to come
        if request.method == "HEAD":  # what a GET would be, of which there is no end
            return web.Response(content_type="text/event-stream", headers=VARY)
        seen = self._feed.seen(request.headers.get("Last-Event-ID", ""))
        follower = self._feed.follow(0 if seen else after, stream, seen)
        self._followers.add(follower)
        try:
            async with sse_response(request, headers=VARY, sep="\n", ping_interval=self._heartbeat_s) as events:
                await events.write(f"retry: {RETRY_MS}\n\n".encode())
                async for frame in follower:
                    shown = shape(frame)
                    data = (shown.body if stream else shown.json).decode()
                    await events.send(data, id=self._feed.identity(frame))
            return events
        except ConnectionResetError:  # the reader left: whatever we return goes nowhere
            return web.Response(status=204)
        finally:
            self._followers.discard(follower)

    def _resumed(self, request: web.Request) -> int | None:
        """The frame after which a reader goes on: None for a new one, and for one of another run."""
        run, _, number = request.headers.get("Last-Event-ID", "").partition("-")
        if run != self._feed.run or not (number.isascii() and number.isdigit()) or len(number) > 18:
            return None
        return min(int(number), self._feed.last)

    async def _close(self, app: web.Application) -> None:
        for follower in tuple(self._followers):
            follower.close()


async def _harden(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)


def _refusal(status: int, line: str, *, retry: bool = False, **more: object) -> web.Response:
    headers = {"Allow": "GET, HEAD"} if status == 405 else {"Retry-After": "1"} if retry else None
    return web.json_response({"error": line, **more}, status=status, headers=headers)


def _query(request: web.Request, *allowed: str, texts: Sequence[str] = ()) -> dict[str, int]:
    """The numbers asked for, each at most once, as texts may be; QueryError for anything else."""
    found: dict[str, int] = {}
    for name, value in request.query.items():
        if name in (*OF_SHAPES, *texts) and len(request.query.getall(name)) == 1:
            continue
        if name not in allowed or name in found:
            names = " or ".join(f"{name} once" for name in (*allowed, *texts, *OF_SHAPES))
            raise QueryError(f"query: found {name[:64]!r}; allowed: {names}")
        if not (value.isascii() and value.isdigit() and len(value) <= len(str(KEEP)) and int(value) <= KEEP):
            raise QueryError(f"query: {name}: found {value[:64]!r}; allowed: a whole number from 0 to {KEEP}")
        found[name] = int(value)
    return found


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _names_this_machine(host: str) -> bool:
    """Whether a Host header is a loopback address or localhost, with any port."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return _is_local(name)


def _reachable(host: str) -> str:
    """The host to write in a link: a wildcard address is reached by the loopback one."""
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "[::1]"
    return f"[{host}]" if address.version == 6 else host
