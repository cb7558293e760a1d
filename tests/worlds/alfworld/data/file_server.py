"""A web server on loopback that hands out files, and misbehaves on demand."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal


@dataclass(frozen=True)
class Answer:
    """How one request is answered.

    ``status`` other than 200 sends no file; ``body`` bytes of it are sent before the connection is closed; ``length`` is added
    to the true Content-Length; ``tag`` is what ETag is given; ``ignore_range`` sends the whole file whatever was asked for.
    """

    status: int = 200
    body: int | None = None
    length: int = 0
    tag: Literal["strong", "weak", "none"] = "strong"
    ignore_range: bool = False
    location: str = ""


@dataclass
class FileServer:
    """``answers`` are used up, one a request; after that every request is answered as it should be."""

    files: dict[str, bytes] = field(default_factory=dict)
    answers: deque[Answer] = field(default_factory=deque)
    ranges: list[str | None] = field(default_factory=list)
    address: str = ""

    def url(self, name: str) -> str:
        return f"{self.address}/{name}"


@contextmanager
def serve(**files: bytes) -> Iterator[FileServer]:
    server = FileServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer = server.answers.popleft() if server.answers else Answer()
            wanted = self.headers.get("Range")
            server.ranges.append(wanted)
            content = server.files.get(self.path.lstrip("/"))
            status = 404 if content is None and answer.status == 200 else answer.status
            if content is None or status != 200:
                self.send_response(status)
                if answer.location:
                    self.send_header("Location", answer.location)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
            start = 0
            if wanted and self.headers.get("If-Range") == tag and not answer.ignore_range:
                match = re.fullmatch(r"bytes=(\d+)-", wanted)
                assert match
                start = int(match[1])
                status = 206 if start < len(content) else 416
            self.send_response(status)
            if answer.tag != "none":
                self.send_header("ETag", tag if answer.tag == "strong" else f"W/{tag}")
            if status == 206:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            body = b"" if status == 416 else content[start:]
            self.send_header("Content-Length", str(len(body) + answer.length))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body if answer.body is None else body[: answer.body])
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.address = f"http://127.0.0.1:{http.server_port}"
        server.files.update(files)
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
