"""Runs inside a machine as an ordinary X client, independent of the measured programs.

Shows a window whose picture is computed from a number, which proves that a screenshot is current;
records the events of the window; times processes from inside; and serves a page with a text field.
Reads requests from standard input and writes responses to standard output, one line of JSON each.
"""

import ctypes
import http.server
import json
import os
import subprocess
import sys
import threading
import time

LEFT, TOP, WIDTH, HEIGHT = 320, 160, 640, 480
BLOCK = 40
EXPOSURE, BUTTONS = 1 << 15, (1 << 2) | (1 << 3)
BUTTON_PRESS, BUTTON_RELEASE = 4, 5
OVERRIDE_REDIRECT, EVENT_MASK = 1 << 9, 1 << 11

X = ctypes.CDLL("libX11.so.6")
for name in ("XOpenDisplay", "XCreateGC"):
    getattr(X, name).restype = ctypes.c_void_p
for name in ("XDefaultRootWindow", "XCreateSimpleWindow"):
    getattr(X, name).restype = ctypes.c_ulong


class Attributes(ctypes.Structure):
    _fields_ = [
        ("background_pixmap", ctypes.c_ulong),
        ("background_pixel", ctypes.c_ulong),
        ("border_pixmap", ctypes.c_ulong),
        ("border_pixel", ctypes.c_ulong),
        ("bit_gravity", ctypes.c_int),
        ("win_gravity", ctypes.c_int),
        ("backing_store", ctypes.c_int),
        ("backing_planes", ctypes.c_ulong),
        ("backing_pixel", ctypes.c_ulong),
        ("save_under", ctypes.c_int),
        ("event_mask", ctypes.c_long),
        ("do_not_propagate_mask", ctypes.c_long),
        ("override_redirect", ctypes.c_int),
        ("colormap", ctypes.c_ulong),
        ("cursor", ctypes.c_ulong),
    ]


class ButtonEvent(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("serial", ctypes.c_ulong),
        ("send_event", ctypes.c_int),
        ("display", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("root", ctypes.c_ulong),
        ("subwindow", ctypes.c_ulong),
        ("time", ctypes.c_ulong),
        ("x", ctypes.c_int),
        ("y", ctypes.c_int),
        ("x_root", ctypes.c_int),
        ("y_root", ctypes.c_int),
        ("state", ctypes.c_uint),
        ("button", ctypes.c_uint),
        ("same_screen", ctypes.c_int),
        # Room for an event of any kind: Xlib's union has 24 longs.
        ("rest", ctypes.c_long * 24),
    ]


class Canvas:
    """The window, whose blocks have the colours of the current frame (see canvas.ts)."""

    def __init__(self):
        self.display = ctypes.c_void_p(X.XOpenDisplay(b":0"))
        root = X.XDefaultRootWindow(self.display)
        self.window = ctypes.c_ulong(
            X.XCreateSimpleWindow(
                self.display, ctypes.c_ulong(root), LEFT, TOP, WIDTH, HEIGHT, 0, 0, 0
            )
        )
        attributes = Attributes(override_redirect=1, event_mask=EXPOSURE | BUTTONS)
        mask = ctypes.c_ulong(OVERRIDE_REDIRECT | EVENT_MASK)
        X.XChangeWindowAttributes(self.display, self.window, mask, ctypes.byref(attributes))
        self.gc = ctypes.c_void_p(X.XCreateGC(self.display, self.window, ctypes.c_ulong(0), None))

    def show(self, frame):
        X.XMapRaised(self.display, self.window)
        columns = WIDTH // BLOCK
        for index in range(columns * (HEIGHT // BLOCK)):
            X.XSetForeground(self.display, self.gc, ctypes.c_ulong(colour(frame, index)))
            x, y = index % columns * BLOCK, index // columns * BLOCK
            X.XFillRectangle(self.display, self.window, self.gc, x, y, BLOCK, BLOCK)
        X.XSync(self.display, 0)

    def hide(self):
        X.XUnmapWindow(self.display, self.window)
        X.XSync(self.display, 0)

    def follow(self):
        """Responds to each press with a colour in the middle that is unique to its point."""
        X.XMapRaised(self.display, self.window)
        event = ButtonEvent()
        while True:
            X.XNextEvent(self.display, ctypes.byref(event))
            if event.type == BUTTON_PRESS:
                pressed = ctypes.c_ulong(colour(event.x_root, event.y_root))
                X.XSetForeground(self.display, self.gc, pressed)
                X.XFillRectangle(self.display, self.window, self.gc, 240, 180, 160, 120)
                X.XFlush(self.display)

    def play(self, first, frames, per_second):
        """Shows frames at an even rate, and leaves the last one on the screen."""
        start = time.monotonic()
        for number in range(frames):
            time.sleep(max(0, start + number / per_second - time.monotonic()))
            self.show(first + number)
        return {"ms": (time.monotonic() - start) * 1000}

    def clicks(self):
        """The presses and releases since the last call, in the order of the X server."""
        X.XSync(self.display, 0)
        seen = []
        event = ButtonEvent()
        while X.XPending(self.display):
            X.XNextEvent(self.display, ctypes.byref(event))
            if event.type in (BUTTON_PRESS, BUTTON_RELEASE):
                kind = "press" if event.type == BUTTON_PRESS else "release"
                seen.append([kind, event.button, event.x_root, event.y_root])
        return seen


def colour(frame, index):
    mixed = (frame * 73856093 & 0xFFFFFFFF) ^ (index * 19349663 & 0xFFFFFFFF)
    return (mixed * 83492791 & 0xFFFFFFFF) >> 8


class Page(http.server.BaseHTTPRequestHandler):
    """A page with a text field that fills the window, and the last content that it reported.

    A browser discards keys until it has painted a page, so the page reports for the first time then.
    """

    text = None
    html = (
        "<!doctype html><meta charset=utf-8><title>bench</title>"
        "<textarea autofocus style='position:fixed;inset:0;width:100%;height:100%'></textarea>"
        "<script>const field = document.querySelector('textarea')\n"
        "const report = () => fetch('/', {method: 'POST', body: field.value})\n"
        "let timer; field.oninput = () => { clearTimeout(timer); timer = setTimeout(report, 100) }\n"
        "const painted = () => requestAnimationFrame(() => requestAnimationFrame(ready))\n"
        "const ready = () => { if (document.activeElement === field) setTimeout(report, 200)\n"
        "  else setTimeout(painted, 50) }\n"
        "painted()</script>"
    )

    def do_GET(self):
        Page.text = None
        self.answer(self.html.encode())

    def do_POST(self):
        Page.text = self.rfile.read(int(self.headers["content-length"])).decode()
        self.answer(b"")

    def answer(self, body):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def run(argv):
    start = time.perf_counter()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True)
    ms = (time.perf_counter() - start) * 1000
    return {"ms": ms, "code": done.returncode, "stderr": done.stderr.decode()[-500:]}


def forget():
    Page.text = None
    return {}


def serve(port):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return {}


def follow():
    # An Xlib connection belongs to one thread.
    painter = Canvas()
    threading.Thread(target=painter.follow, daemon=True).start()
    return {}


def main():
    canvas = Canvas()
    actions = {
        "show": lambda request: canvas.show(request["frame"]) or {},
        "hide": lambda request: canvas.hide() or {},
        "play": lambda request: canvas.play(request["first"], request["frames"], request["perSecond"]),
        "follow": lambda request: follow(),
        "clicks": lambda request: {"clicks": canvas.clicks()},
        "run": lambda request: run(request["argv"]),
        "serve": lambda request: serve(request["port"]),
        "forget": lambda request: forget(),
        "page": lambda request: {"text": Page.text},
    }
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = actions[request["do"]](request)
        except Exception as error:
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)


os.environ.setdefault("DISPLAY", ":0")
main()
