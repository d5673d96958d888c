# SPDX-License-Identifier: Apache-2.0
"""Debian's chromium, driven over its DevTools protocol: as much of it as the page's tests need, and no more.

Nothing is resolved or loaded but 127.0.0.1 and files. What a page writes to the console, what it throws, which policy
it breaks and what it asks for is kept in the Page. One Chromium, one background thread with its event loop.
"""

import asyncio
import base64
import itertools
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import aiohttp

MISSING = "no chromium: apt-get install chromium, or set MURMURATE_CHROMIUM to one"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root in a container has no user namespace; only our own pages are opened
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=SpareRendererForSitePerProcess,Translate,MediaRouter,OptimizationHints",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
START_S = 60.0
KEYS = {"Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), " ": (32, " ")}
KEYS |= {
    name: (code, "") for code, name in enumerate(("End", "Home", "ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"), 35)
}
T = TypeVar("T")


class ChromiumError(Exception):
    """Chromium is missing, does not start, or a page does not do what a test waits for."""


def executable() -> str:
    """The browser to use; ChromiumError with the one line that says what to install."""
    named = os.environ.get("MURMURATE_CHROMIUM")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        raise ChromiumError(MISSING)
    return found


class Chromium:
    """A running browser; `close` ends it."""

    def __init__(self) -> None:
        program = executable()
        self._profile = tempfile.TemporaryDirectory(prefix="murmurate-chromium-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}
        try:
            self.wait(self._connect())
        except BaseException:
            self.close()
            raise

    def wait(self, work: Coroutine[Any, Any, T], timeout: float = 60.0) -> T:
        """The result of a coroutine run in the browser's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout)

    def page(self, width: int = 1280, height: int = 900, *, dark: bool = False) -> "Page":
        """A new empty tab with a profile of its own."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session, context)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.resize(width, height)
        page.colours(dark=dark)
        return page

    def send(self, method: str, session: str = "", /, **parameters: Any) -> dict[str, Any]:
        """A command's result."""
        return self.wait(self._send(method, session, parameters))

    def close(self) -> None:
        """End the browser that this object started, by its own process."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
        if hasattr(self, "_http"):
            self.wait(self._http.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self._profile.cleanup()

    async def _connect(self) -> None:
        told = Path(self._profile.name) / "DevToolsActivePort"
        for _ in range(int(START_S / 0.05)):
            if told.exists() and len(lines := told.read_text().split()) == 2:
                break
            if self._process.poll() is not None:
                raise ChromiumError(f"chromium ended with {self._process.returncode} before it listened")
            await asyncio.sleep(0.05)  # chromium offers no event for this but the file
        else:
            raise ChromiumError(f"chromium did not listen within {START_S:g} s")
        self._http = aiohttp.ClientSession()
        self._socket = await self._http.ws_connect(f"ws://127.0.0.1:{lines[0]}{lines[1]}", max_msg_size=0)
        self._reader = asyncio.create_task(self._read())

    async def _send(self, method: str, session: str, parameters: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        await self._socket.send_json(message | ({"sessionId": session} if session else {}))
        answer = await asyncio.wait_for(self._answers[number], 50)
        if "error" in answer:
            raise ChromiumError(f"{method}: {answer['error']['message']}")
        result: dict[str, Any] = answer["result"]
        return result

    async def _read(self) -> None:
        async for message in self._socket:
            told: dict[str, Any] = message.json()
            if "id" in told:
                if not (waiting := self._answers.pop(told["id"])).done():
                    waiting.set_result(told)
            elif page := self._pages.get(told.get("sessionId", "")):
                page.hear(told["method"], told["params"])


class Page:
    """A tab, and everything it complained about."""

    def __init__(self, browser: Chromium, session: str, context: str) -> None:
        self._browser, self._session, self._context = browser, session, context
        self.complaints: list[str] = []
        """Console errors and warnings, uncaught errors, broken policies, failed loads."""
        self.asked: list[str] = []
        """Every address it asked for."""

    def send(self, method: str, /, **parameters: Any) -> dict[str, Any]:
        """A command's result."""
        return self._browser.send(method, self._session, **parameters)

    def hear(self, method: str, told: dict[str, Any]) -> None:
        """Keep what the tests look at."""
        if method == "Runtime.consoleAPICalled" and told["type"] in {"error", "warning", "assert"}:
            self.complaints.append(" ".join(str(part.get("value", part)) for part in told["args"]))
        elif method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])

    def open(self, url: str) -> None:
        """Go to an address."""
        if error := self.send("Page.navigate", url=url).get("errorText"):
            raise ChromiumError(f"{url}: {error}")
        self.until("document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of an expression, awaited if it is a promise."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise ChromiumError(f"{script}: {details.get('exception', {}).get('description', details['text'])}")
        return answer["result"].get("value")

    def until(self, condition: str, seconds: float = 20.0) -> None:
        """Wait until an expression is true, asking at every refresh of the screen.  What cannot be asked yet, because a
        busy machine has not come so far, is not true yet.
        """
        thrown = self.run(
            f"""new Promise((tell) => {{ const end = performance.now() + {seconds * 1000};
            const look = () => {{ let met = false, thrown = '';
            try {{ met = ({condition}); }} catch (error) {{ thrown = String(error); }}
            if (met) tell(null); else if (performance.now() > end) tell(thrown || 'it was false');
            else requestAnimationFrame(look); }}; look(); }})"""
        )
        if thrown is not None:
            raise ChromiumError(
                f"waited {seconds:g} s in vain for: {condition}: {thrown}\ncomplaints: {self.complaints}"
            )

    def resize(self, width: int, height: int) -> None:
        """Set the size of the window."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def colours(self, *, dark: bool) -> None:
        """Prefer dark or light."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def offline(self) -> None:
        """Take the network away."""
        self.send("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=0, uploadThroughput=0)

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key and let it go."""
        code, text = KEYS[key]
        stroke = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **stroke)
        self.send("Input.dispatchKeyEvent", type="keyUp", **stroke)

    def point(self, x: float, y: float) -> None:
        """Move the mouse."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def drag(self, start: float, end: float, y: float) -> None:
        """Move the mouse across the window with its button down."""
        for kind, x, buttons in (
            ("Pressed", start, 1),
            ("Moved", (start + end) / 2, 1),
            ("Moved", end, 1),
            ("Released", end, 0),
        ):
            button = "none" if kind == "Moved" else "left"
            self.send(
                "Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, button=button, buttons=buttons, clickCount=1
            )

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Write a PNG of the page, or of what the window shows."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """Close the tab and forget its profile."""
        self._browser.send("Target.disposeBrowserContext", browserContextId=self._context)
