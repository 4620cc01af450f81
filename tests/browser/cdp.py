"""Chromium driven over its debugging pipe: JSON messages, each ended by a zero byte, on two file
descriptors. Needs no port, no socket and no package.

    with Browser.start(folder) as browser:
        page = browser.page()
        page.open("file:///report.html")
        page.evaluate("document.title")
"""

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time

FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--disable-default-apps", "--disable-quic", "--no-first-run",
    "--no-default-browser-check", "--force-color-profile=srgb", "--font-render-hinting=none",
    "--disable-lcd-text", "--hide-scrollbars", "--lang=en-US", "--mute-audio",
    # Whatever a page or the browser asks for, nothing leaves this machine.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
]


class BrowserError(Exception):
    """The browser died, refused a command or did not answer in time."""


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Browser:
    """One browser process. All pages share its pipe; messages for others wait in their queues."""

    def __init__(self, process, to_browser, from_browser):
        self.process = process
        self.to_browser = to_browser
        self.from_browser = from_browser
        self.last_id = 0
        self.unread = b""
        self.answers = {}
        self.pages = {}

    @staticmethod
    def start(folder, chromium=None):
        """`folder` takes the browser's profile and must be empty of one."""
        chromium = chromium or find_chromium()
        fonts = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fonts.conf")
        profile = os.path.join(folder, "profile")
        cache = os.path.join(folder, "cache")
        os.makedirs(cache, exist_ok=True)
        # Above 4, so that moving one end to 3 or 4 cannot overwrite the other.
        reads, to_browser = os.pipe()
        from_browser, writes = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (reads, writes)]
        os.close(reads)
        os.close(writes)

        def hand_over():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        environment = dict(os.environ, FONTCONFIG_FILE=fonts, XDG_CACHE_HOME=cache, LANG="C.UTF-8",
                           TZ="UTC", HOME=folder)
        with open(os.path.join(folder, "chromium.log"), "wb") as log:
            process = subprocess.Popen(
                [chromium, *FLAGS, "--user-data-dir=" + profile, "about:blank"], env=environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=hand_over,
                pass_fds=(3, 4), start_new_session=True)
        for end in ends:
            os.close(end)
        browser = Browser(process, to_browser, from_browser)
        browser.version = browser.call("Browser.getVersion", timeout=60)["product"]
        return browser

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        try:
            self.call("Browser.close", timeout=5)
            self.process.wait(10)
        except (BrowserError, subprocess.TimeoutExpired, OSError):
            pass
        # The group is ours alone (start_new_session): what the browser left goes with it.
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)

    def send(self, method, params=None, session=None):
        """The number of the answer that will come."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        try:
            data = memoryview(json.dumps(message).encode() + b"\0")
            while data:
                data = data[os.write(self.to_browser, data):]
        except BrokenPipeError as error:
            raise BrowserError("the browser is gone") from error
        return self.last_id

    def call(self, method, params=None, session=None, timeout=90):
        wanted = self.send(method, params, session)
        deadline = time.monotonic() + timeout
        while wanted not in self.answers:
            if not self.receive(deadline - time.monotonic()):
                raise BrowserError(f"{method}: no answer in {timeout} s")
        answer = self.answers.pop(wanted)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def receive(self, wait):
        """Reads what has come; False if nothing did within `wait` seconds."""
        if wait <= 0 or not select.select([self.from_browser], [], [], wait)[0]:
            return False
        data = os.read(self.from_browser, 1 << 20)
        if not data:
            raise BrowserError("the browser is gone")
        *messages, self.unread = (self.unread + data).split(b"\0")
        for text in messages:
            message = json.loads(text)
            if "id" in message:
                self.answers[message["id"]] = message
            elif message.get("sessionId") in self.pages:
                self.pages[message["sessionId"]].events.append(message)
                if message["method"] == "Page.javascriptDialogOpening":
                    # An open dialog holds up everything else that is asked of the page.
                    self.send("Page.handleJavaScriptDialog", {"accept": True}, message["sessionId"])
        return True

    def page(self, width=1280, height=900):
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        page = Page(self, target, session["sessionId"])
        self.pages[page.session] = page
        for domain in ("Page", "Runtime", "Network", "Log", "Audits"):
            page.call(domain + ".enable")
        page.size(width, height)
        return page


class Page:
    """One tab: commands, and the events that came since it was opened."""

    def __init__(self, browser, target, session):
        self.browser = browser
        self.target = target
        self.session = session
        self.events = []
        self.url = "about:blank"

    def call(self, method, params=None, timeout=90):
        return self.browser.call(method, params, self.session, timeout)

    def close(self):
        self.browser.call("Target.closeTarget", {"targetId": self.target})
        del self.browser.pages[self.session]

    def size(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile})

    def media(self, kind="", scheme="light"):
        """`kind` print or screen; motion is reduced, so that no picture catches a movement."""
        self.call("Emulation.setEmulatedMedia", {"media": kind, "features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def scripts(self, allowed):
        self.call("Emulation.setScriptExecutionDisabled", {"value": not allowed})

    def open(self, url, timeout=90):
        """Forgets earlier events and waits for the load event."""
        self.settle(0.01)
        self.events.clear()
        self.url = url
        answer = self.call("Page.navigate", {"url": url}, timeout)
        if answer.get("errorText"):
            raise BrowserError(f"{url}: {answer['errorText']}")
        self.wait(lambda: self.seen("Page.loadEventFired"), timeout, "the load event of " + url)

    def seen(self, *methods):
        return [event for event in self.events if event["method"] in methods]

    def settle(self, seconds):
        """Takes events until none came for so long."""
        while self.browser.receive(seconds):
            pass

    def wait(self, holds, timeout, what):
        deadline = time.monotonic() + timeout
        while not holds():
            left = deadline - time.monotonic()
            if left <= 0:
                raise BrowserError(f"waited {timeout} s for {what}")
            self.browser.receive(min(left, 0.05))

    def evaluate(self, expression, timeout=90):
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True,
                                                "awaitPromise": True}, timeout)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def ask(self, function, *arguments, timeout=90):
        """The value of a JavaScript function called with these arguments."""
        listed = ", ".join(json.dumps(argument) for argument in arguments)
        return self.evaluate(f"({function})({listed})", timeout)

    def move_mouse(self, x, y):
        self.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y})

    def press(self, key, shift=False):
        code = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37,
                "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}[key]
        event = {"key": key, "code": key, "windowsVirtualKeyCode": code,
                 "modifiers": 8 if shift else 0}
        if key == "Enter":
            event["text"] = "\r"
        self.call("Input.dispatchKeyEvent", dict(event, type="keyDown"))
        self.call("Input.dispatchKeyEvent", dict(event, type="keyUp"))
