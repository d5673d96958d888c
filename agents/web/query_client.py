# SPDX-License-Identifier: Apache-2.0
"""Asks the page's server of a worker, a demo or a replay: `/query?q=...`.

Contract: the bytes of the answer as the server gives them; what it refuses is refused here in its own words.
"""

from __future__ import annotations

from typing import Final

import aiohttp
import orjson

from murmurate.agents.web.errors import QueryError
from murmurate.aggregators.queries import QueryRefusedError

TIMEOUT_S: Final = 30.0


async def asked_at(url: str, question: str, *, users: int | None = None, running: bool = False) -> bytes:
    """The answer to a question, in JSON. QueryRefusedError if there is none, QueryError if no server says so."""
    parameters = (
        {"q": question} | ({} if users is None else {"users": str(users)}) | ({"running": "1"} if running else {})
    )
    try:
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{url.rstrip('/')}/query", params=parameters) as response,
        ):
            body = await response.read()
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise QueryError(f"query: {url}: {type(error).__name__}; allowed: the address of a page") from None
    if response.status == 200:
        return body
    try:
        line = str(orjson.loads(body)["error"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise QueryError(f"query: {url}: found status {response.status}; allowed: the address of a page") from None
    raise QueryRefusedError(line)
