"""WebDriver BiDi over one websocket: calls that are awaited, events handed to one listener."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import websockets
from longlook_adapter.errors import DriverError
from websockets.asyncio.client import ClientConnection, connect

Listener = Callable[[str, Mapping[str, Any]], None]


class CallError(Exception):
    """The browser refused a call."""


class Bidi:
    """One connection to a browser. Events without a listener are dropped."""

    def __init__(self, socket: ClientConnection) -> None:
        self.listener: Listener | None = None
        self._socket = socket
        self._last_id = 0
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def connect(cls, url: str) -> "Bidi":
        """Open the websocket; messages may be of any size and are not compressed, the peer is on this machine."""
        return cls(await connect(url, max_size=None, compression=None, proxy=None, ping_interval=None))

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the result of a call; CallError if the browser refuses it, DriverError if it has gone."""
        if self._reader.done():
            raise DriverError("the browser closed its BiDi connection")
        self._last_id += 1
        number = self._last_id
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            await self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
            return await answer
        except websockets.ConnectionClosed as error:
            raise DriverError("the browser closed its BiDi connection") from error
        finally:
            self._pending.pop(number, None)

    async def close(self) -> None:
        """Close the websocket; pending calls fail."""
        await self._socket.close()
        await self._reader

    async def _read(self) -> None:
        try:
            async for text in self._socket:
                self._dispatch(json.loads(text))
        except websockets.ConnectionClosed:
            pass  # as a browser closes it that ends
        finally:
            for answer in self._pending.values():
                if not answer.done():
                    answer.set_exception(DriverError("the browser closed its BiDi connection"))

    def _dispatch(self, message: dict[str, Any]) -> None:
        if message.get("type") == "event":
            if self.listener is not None:
                self.listener(message["method"], message["params"])
            return
        answer = self._pending.get(message.get("id", 0))
        if answer is None or answer.done():
            return
        if message.get("type") == "error":
            answer.set_exception(CallError(str(message.get("message", "unknown error"))))
        else:
            answer.set_result(message["result"])
