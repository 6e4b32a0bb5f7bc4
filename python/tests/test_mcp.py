"""The door for assistants, with the client that the protocol has in Python."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from nextbatch import _binary

mcp = pytest.importorskip("mcp")
stdio = pytest.importorskip("mcp.client.stdio")

TABLE = "name,a,y\n" + "".join(f"s{i},{i},{2 * i if i < 8 else ''}\n" for i in range(12))


async def talk(store: Path) -> tuple[list[str], str, str]:
    """List the tools, tell a label, and read the history."""
    server = mcp.StdioServerParameters(command=_binary.path(), args=["mcp", str(store), "--person", "ada"])
    async with stdio.stdio_client(server) as streams, mcp.ClientSession(*streams) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        told = await session.call_tool("tell", {"rows": [{"id": "s9", "values": {"y": 18}}]})
        history = await session.call_tool("history", {})
        return tools, told.content[0].text, history.content[0].text


def test_an_assistant_tells_a_label(tmp_path: Path) -> None:
    table, store = tmp_path / "table.csv", tmp_path / "c.db"
    table.write_text(TABLE)
    subprocess.run(
        [_binary.path(), "campaign", "new", str(store), str(table), "--target", "y", "--id", "name", "--quiet"],
        check=True,
    )
    tools, told, history = asyncio.run(talk(store))
    assert "status" in tools and "confirm" not in tools
    assert told.startswith("Event 4: s9")
    assert "ada (assistant): 1 label told: s9" in history
