#!/usr/bin/env python3
"""Opens the explorer in headless Chromium and uses it as a reader would: slider, keys, hover, focus, toggles, address.

usage: explorer_browser.py DASHLAB. Ends with 77 (skipped) where there is no Chromium. Speaks the DevTools protocol over
a small WebSocket client of its own, so that nothing has to be installed.
"""

import base64
import contextlib
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class WebSocket:
    """Text frames of one connection, client side (RFC 6455)."""

    def __init__(self, url):
        host, _, path = url.removeprefix("ws://").partition("/")
        name, _, port = host.partition(":")
        self.socket = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(4096)
        self.buffer = self.buffer.partition(b"\r\n\r\n")[2]

    def send(self, text):
        data = text.encode()
        mask = os.urandom(4)
        length = len(data)
        if length < 126:
            head = struct.pack("!BB", 0x81, 0x80 | length)
        elif length < 1 << 16:
            head = struct.pack("!BBH", 0x81, 0x80 | 126, length)
        else:
            head = struct.pack("!BBQ", 0x81, 0x80 | 127, length)
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def take(self, count):
        while len(self.buffer) < count:
            piece = self.socket.recv(1 << 16)
            if not piece:
                raise EOFError("the browser closed the connection")
            self.buffer += piece
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def receive(self):
        text = b""
        while True:
            first, second = self.take(2)
            length = second & 127
            if length == 126:
                length = struct.unpack("!H", self.take(2))[0]
            elif length == 127:
                length = struct.unpack("!Q", self.take(8))[0]
            text += self.take(length)
            if first & 0x80:
                return text.decode()


class Page:
    def __init__(self, url):
        self.web = WebSocket(url)
        self.number = 0
        self.complaints = []
        self.contexts = {}  # the newest one of each frame
        for domain in ("Runtime", "Log", "Page"):
            self.call(f"{domain}.enable")

    def note(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(params["args"]))
        elif method == "Runtime.executionContextCreated":
            context = params["context"]
            self.contexts[context.get("auxData", {}).get("frameId")] = context["id"]
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])

    def call(self, method, **params):
        self.number += 1
        self.web.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = json.loads(self.web.receive())
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.note(message)

    def open(self, path, fragment=""):
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=pathlib.Path(path).as_uri() + fragment)
        for _ in range(300):
            # The page has its own name for everything; `steps` exists once its program ran to the end.
            if self.js("document.readyState === 'complete' && typeof panels !== 'undefined' && panels.length > 0"):
                self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
                return
            time.sleep(0.1)
        raise TimeoutError(f"{path} did not come up: {self.complaints}")

    def js(self, code, context=None):
        where = {} if context is None else {"contextId": context}
        result = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True, **where)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description"))
        return result["result"].get("value")

    def key(self, key, code=None, text=None, shift=False):
        event = {"key": key, "code": code or key, "modifiers": 8 if shift else 0}
        if text:
            event["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code or key)
        self.rest()

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if kind != "mouseMoved" else "none", clickCount=1)
        self.rest()

    def rest(self):
        self.js("new Promise(done => setTimeout(() => requestAnimationFrame(done), 220))")

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))


checks = 0


def check(what, seen, wanted):
    global checks
    checks += 1
    if seen != wanted:
        raise AssertionError(f"{what}: saw {seen!r}, wanted {wanted!r}")


def small_page(page, dashlab, folder):
    path = folder / "small.html"
    subprocess.run([dashlab, "render", "--mask", "causal", "--tiles", "4", "--schedule", "ascending,descending",
                    "-o", path], check=True, stdout=subprocess.DEVNULL)
    plan = json.loads(subprocess.run([dashlab, "plan", "--mask", "causal", "--tiles", "4", "--schedule", "ascending", "--json"],
                                     check=True, capture_output=True).stdout)
    page.open(path)
    check("tasks of both schedules", page.js("runs.map(r => r.count).join()"), f"{plan['tasks']},{plan['tasks']}")
    check("makespan in the table of bubbles", float(page.js("$('bubbles').tBodies[0].rows[0].cells[1].textContent")), plan["makespan"])
    check("waiting in the table of bubbles", float(page.js("$('bubbles').tBodies[0].rows[0].cells[3].textContent").split()[0]),
          plan["reduce_wait"])
    check("first step", page.js("step"), 0)
    last = page.js("steps.length - 1")

    page.key("ArrowRight")
    check("right arrow", page.js("step"), 1)
    page.key("ArrowRight", shift=True)
    check("shift and right arrow", page.js("step"), min(11, last))
    page.key("End")
    check("End", page.js("step"), last)
    check("the clock at the end", page.js("$('clock').textContent.split(' ')[0]"), f"{plan['makespan']:g}")
    page.key("Home")
    check("Home", page.js("step"), 0)
    page.js("$('slider').value = 5; $('slider').dispatchEvent(new Event('input'))")
    page.rest()
    check("slider", page.js("step"), 5)
    check("deep link follows", page.js("location.hash"), "#step=5")
    check("slider speaks", page.js("$('slider').getAttribute('aria-valuetext')"), page.js("`${+time().toFixed(4)} c`"))

    page.key(" ", "Space", " ")
    check("space plays", page.js("playing > 0"), True)
    page.key(" ", "Space", " ")
    check("space pauses", page.js("playing"), 0)

    # By hand: causal, 4 tiles, ascending, c = 1, r = 1/4. SM 1 computes q 1 in 0..1 and waits for kv 0, which computes
    # q 1 in 1.25..2.25 and adds it until 2.5.
    frame = page.js("(b => ({x: b.x, y: b.y}))(panels[0].over.getBoundingClientRect())")
    x = page.js("xOf(view, panels[0].width, 1.8)")
    page.mouse("mouseMoved", frame["x"] + x, frame["y"] + 1.5 * page.js("rowHeight(runs[0])"))
    wanted = ("ascending: head 0, q 1, kv 1 on SM 1. Compute 0 to 1 c. Waited 1.5 c for kv 0 on SM 0 (rank 0). "
              "Reduce 2.5 to 2.75 c, rank 1. On the critical path.")
    check("hover facts", page.js("$('tip').hidden ? '' : $('tip').textContent"), wanted)
    check("spoken facts", page.js("$('facts').textContent"), wanted)
    page.mouse("mouseMoved", 5, 5)
    check("the tip goes", page.js("$('tip').hidden"), True)

    page.js("document.activeElement.blur(); go(0); panels[1].over.focus()")
    page.rest()
    check("focus marks a task", page.js("$('facts').textContent.startsWith('descending: head 0, q 3, kv 0 on SM 0.')"), True)
    page.key("ArrowDown")
    check("down: next SM", page.js("$('facts').textContent.includes('kv 1 on SM 1')"), True)
    page.key("ArrowRight")
    check("right: next task", page.js("$('facts').textContent.includes('q 2, kv 1 on SM 1')"), True)

    page.js("$('toggles').querySelectorAll('input')[1].click()")
    page.rest()
    check("toggle hides", page.js("panels[1].root.hidden"), True)
    page.js("document.activeElement.blur(); $('now').open = true")
    page.rest()
    check("table of current tasks is filled", page.js("$('now-table').tBodies[0].rows.length > 0"), True)
    page.js("$('theme').click()")
    page.rest()
    check("themes differ", page.js("getComputedStyle(document.body).backgroundColor"), "rgb(20, 24, 29)")

    page.open(path, "#step=7")
    check("deep link opens", page.js("step"), 7)
    # SM 0 works on q 1 from 1.25 to 2.25: its cell of the grid has the light colour of head 0.
    page.js("go(stepAt(1.8))")
    page.rest()
    pixel = page.js("""(() => { const c = panels[0].cells, r = devicePixelRatio, cell = c.width / r / 4;
        return Array.from(c.getContext('2d').getImageData((0.5 * cell) * r, (15 + 1.5 * cell) * r, 1, 1).data).slice(0, 3); })()""")
    check("the task at work is lit", pixel, [0xA9, 0xD3, 0xF2])


def nasty_names(page, dashlab, folder):
    # A user's schedule file may carry any name.
    subprocess.run([dashlab, "plan", "--mask", "full", "--tiles", "2", "--schedule", "shift", "-o", folder / "a.json"],
                   check=True, stdout=subprocess.DEVNULL)
    data = json.loads((folder / "a.json").read_text())
    if "name" not in data:
        return
    name = "</script><img src=x onerror=alert(1)> & \"q\" \\N"
    data["name"] = name
    (folder / "b.json").write_text(json.dumps(data))
    subprocess.run([dashlab, "render", "--schedule", folder / "b.json", "-o", folder / "b.html"], check=True, stdout=subprocess.DEVNULL)
    page.open(folder / "b.html")
    check("a nasty name is shown as typed", page.js("runs[0].name"), name)
    check("and makes no element", page.js("document.images.length"), 0)


def large_page(page, dashlab, folder):
    path = folder / "large.html"
    subprocess.run([dashlab, "render", "--mask", "causal", "--tiles", "128", "--heads", "13", "--sms", "132", "--schedule", "spt",
                    "-o", path], check=True, stdout=subprocess.DEVNULL)
    page.open(path)
    check("more than 100,000 tasks", page.js("runs[0].count") > 100_000, True)
    # A step draws grids, cursor and clock. Fluid: 24 frames a second allow 41 ms. The best of five rounds, so that a busy
    # machine does not count.
    step_ms = page.js("""(() => { let best = Infinity; for (let round = 0; round < 5; ++round) { const began = performance.now();
        for (let i = 0; i < 10; ++i) { step = (step + 501) % steps.length; draw(); }
        best = Math.min(best, (performance.now() - began) / 10); } return best; })()""")
    full_ms = page.js("(() => { const began = performance.now(); stale = true; draw(); return performance.now() - began; })()")
    print(f"{page.js('runs[0].count')} tasks: {step_ms:.1f} ms a step, {full_ms:.1f} ms to draw everything")
    check("a step is fluid", step_ms < 41, True)
    page.js("zoom(0.5); zoom(0.5)")
    page.rest()


def counted():
    return checks


@contextlib.contextmanager
def browse(folder):
    """A page of a fresh browser; None where there is no Chromium that starts."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("skipped: no Chromium here")
        yield None
        return
    process = subprocess.Popen(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--window-size=1400,1000",
         "--allow-file-access-from-files", f"--user-data-dir={folder / 'profile'}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port_file = folder / "profile" / "DevToolsActivePort"
        for _ in range(600):
            if port_file.exists() and port_file.read_text().count("\n") >= 1:
                break
            if process.poll() is not None:
                print("skipped: Chromium does not start here")
                yield None
                return
            time.sleep(0.1)
        port = port_file.read_text().split("\n")[0]
        targets = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
        yield Page(next(t["webSocketDebuggerUrl"] for t in targets if t["type"] == "page"))
    finally:
        process.terminate()
        process.wait()


def main():
    dashlab = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        with browse(folder) as page:
            if page is None:
                return 77
            for part in (small_page, nasty_names, large_page):
                part(page, dashlab, folder)
                check(f"console after {part.__name__}", page.complaints, [])
            print(f"{checks} checks")
            return 0


if __name__ == "__main__":
    sys.exit(main())
