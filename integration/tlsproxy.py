"""A load balancer that ends TLS: clients speak TLS to it, and it hands what they say on to a server that has none."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from pathlib import Path


class TLSProxy:
    """One proxy on a port of its own. Use it as a context manager: it ends with the block."""

    def __init__(self, server: str, certificate: Path, key: Path) -> None:
        """``server`` is the address, ``grpc://HOST:PORT``, that it speaks to."""
        host, port = server.removeprefix("grpc://").rsplit(":", 1)
        self._target = (host, int(port))
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificate, key)
        self._tls.set_alpn_protocols(["h2"])
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.connections = 0
        """How many clients have come with TLS."""

    def __enter__(self) -> TLSProxy:
        self._thread.start()
        start = asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result(30)
        port = self._server.sockets[0].getsockname()[1]
        self.address = f"grpc+tls://127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    async def _end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        self.connections += 1
        server, to_server = await asyncio.open_connection(*self._target)
        await asyncio.gather(self._copy(client, to_server), self._copy(server, to_client))

    @staticmethod
    async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError):
            while data := await source.read(1 << 18):
                sink.write(data)
                await sink.drain()
        sink.close()
