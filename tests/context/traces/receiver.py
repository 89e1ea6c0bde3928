"""A receiver of OTLP over HTTP on the loopback, which keeps what it was sent."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.listening import Listening


class Receiver:
    """`spans`: what has arrived, as protobuf. `status`: what it answers."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.status = 200
        self.spans: list[Any] = []
        self.raw: list[bytes] = []
        self.paths: list[str] = []
        self.services: set[str] = set()

    def take(self, path: str, body: bytes) -> int:
        """What arrives with one request."""
        self.paths.append(path)
        if self.status == 200:
            self.raw.append(body)
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                self.services |= {each.value.string_value for each in resource.resource.attributes if each.key == "service.name"}
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        return self.status


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that ends with the `with`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = receiver.take(self.path, gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

    with Listening(Handler) as server:
        receiver = Receiver(server.url)
        yield receiver


def attributes(of: Any) -> dict[str, Any]:
    """The attributes of a span or an event."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in of.attributes}
