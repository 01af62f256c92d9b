"""The DevTools protocol over one websocket: calls that are awaited, events handed to listeners."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import websockets
from longlook_adapter.errors import DriverError
from websockets.asyncio.client import ClientConnection, connect

Listener = Callable[[str, Mapping[str, Any]], None]


class GoneError(DriverError):
    """The browser closed its DevTools connection."""

    def __init__(self) -> None:
        super().__init__("the browser closed its DevTools connection")


class CallError(Exception):
    """The browser refused a call."""


class Cdp:
    """One connection to a browser. Events of a session go to the listener that was set for it, others are dropped."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._last_id = 0
        self._pending: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listeners: dict[str, Listener] = {}
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def connect(cls, url: str, close_limit_s: float = 10.0) -> "Cdp":
        """Open the websocket; messages may be of any size, and are not compressed, which would cost both ends time.

        `close_limit_s` is how long the browser may take to agree to the connection's end.
        """
        socket = await connect(
            url, max_size=None, compression=None, proxy=None, ping_interval=None, close_timeout=close_limit_s
        )
        return cls(socket)

    @property
    def closed(self) -> "asyncio.Future[None]":
        """Return a future that is done once the browser has closed the connection, or its machine has."""
        return self._reader

    async def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Return the result of a call; CallError if the browser refuses it, GoneError if it has gone."""
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        if self._reader.done():
            raise GoneError
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[self._last_id] = answer
        try:
            await self._socket.send(json.dumps(message))
            return await answer
        except websockets.ConnectionClosed as error:
            raise GoneError from error
        finally:
            self._pending.pop(message["id"], None)

    def listen(self, session: str, listener: Listener) -> None:
        """Hand every event of a session to `listener(method, params)`, in order."""
        self._listeners[session] = listener

    def forget(self, session: str) -> None:
        """Drop the events of a session from now on."""
        self._listeners.pop(session, None)

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
                    answer.set_exception(GoneError)

    def _dispatch(self, message: dict[str, Any]) -> None:
        if "id" not in message:
            if listener := self._listeners.get(message.get("sessionId", "")):
                listener(message["method"], message["params"])
            return
        answer = self._pending.get(message["id"])
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(CallError(message["error"].get("message", "unknown error")))
        else:
            answer.set_result(message["result"])
