"""The system service under a real systemd: one hub for a server's users, each with their own."""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from mcp.client.client import Client

from tests.acceptance.bridge import PATIENCE, Json, text_of
from tests.acceptance.login import ASK_HUB, QUESTION, Login, asking
from tests.documents.pages import blocks, commands, commands_of
from tests.documents.ways import NO_COMMANDS, SERVER, way_of
from tests.fakes.container import CHATBRIDGE, PYTHON, Container
from tests.fakes.sample_files import png

pytestmark = [pytest.mark.nspawn, pytest.mark.early]

UNIT = "chatbridge-system.service"
UNITS = "/etc/systemd/system"
SHOP = "/srv/shop"
SECRET = "Sell the shop?"
TOKEN = "123456789:AAFakeFakeFakeFakeFakeFakeFakeFakeFak"
CONFIG = "[telegram]\nchat_id = [5]\nallowed_users = [5]\n"
STATE = "/var/lib/private/chatbridge"
FIRST_LINE = "sudo python3 -m venv /opt/chatbridge"
BIN = "/opt/chatbridge/bin"
INSTALLED_UNITS = "/opt/source/systemd"
IS_THERE = ("sudo python3 -m venv ", f"sudo {BIN}/pip ", f"sudo ln -s {BIN}/chatbridge ", "cd ")
"""Lines of the page about what the container has already, at other paths."""
TYPED = {"tee /etc/chatbridge/config.toml": CONFIG, "/credentials/telegram__token": TOKEN}
"""What root types into these."""
PAIR = """
from chatbridge.cli.hub.hub_client import connected
with connected() as line:
    line.begin("pair")
    print(line.event(within=None))
"""
LOOK = """
import os, socket, sys
from chatbridge.link import search
try:
    search.connect_machine_hub()
except OSError as error:
    print(type(error).__name__)
for path in sys.argv[1:]:
    try:
        print(os.listdir(path) if os.path.isdir(path) else open(path).read())
    except OSError as error:
        print(type(error).__name__)
"""

IN_THE_INBOX = """
import sys
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

link = urlsplit(sys.argv[1])
inbox = HTTPConnection(link.netloc)
form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://{link.netloc}"}
inbox.request("POST", "/login", urlencode({"code": link.path.rpartition("/")[2]}), form)
cookie = inbox.getresponse().headers["Set-Cookie"].partition(";")[0]
inbox.close()
inbox.request("GET", sys.argv[2], headers={"Cookie": cookie})
print(inbox.getresponse().headers["Content-Type"])
"""


@pytest.fixture(scope="session")
def server(container: Container) -> Container:
    """Installed with the lines of docs/systemd.md."""
    for user in ("alice", "bob", "eve"):
        container.add_user(user)
    container.run("mkdir", "-p", f"{SHOP}/.git")
    drop_in = f"[Service]\nExecStart=\nExecStart={CHATBRIDGE} hub --system --started-by service\n"
    container.write(f"{UNITS}/{UNIT}.d/path.conf", drop_in, mode="644")
    (block,) = (block for block in blocks() if block.first == FIRST_LINE)
    for _, line in commands_of(block):
        if not line.startswith(IS_THERE):
            said = next((it for words, it in TYPED.items() if words in line), "")
            as_root(container, line, said)
    as_root(container, "sudo usermod --append --groups chatbridge bob")
    return container


def as_root(container: Container, line: str, said: str = "") -> str:
    """What a line of the page prints."""
    here = f"cd {INSTALLED_UNITS} && export PATH={BIN}:$PATH"
    return container.run("bash", "-c", f"{here} && {line.replace('sudo', 'env')}", stdin=said)


@pytest.fixture
def alice(server: Container) -> Iterator[Login]:
    login = Login(server, "alice")
    yield login
    cancel_all(login)


@pytest.fixture
def bob(server: Container) -> Iterator[Login]:
    login = Login(server, "bob")
    yield login
    cancel_all(login)


def cancel_all(login: Login) -> None:
    for ask in login.pending():
        login.ask_hub("cancel", id=ask["id"])


async def ticket(client: Client) -> str:
    """The id of a question that nobody waits for."""
    question = {**QUESTION, "question": SECRET, "type": "select"}
    arguments = {"questions": [question], "wait": False}
    ask: Json = json.loads(text_of(await client.call_tool("ask_user", arguments)))
    found: str = ask["askId"]
    return found


def test_it_runs_as_nobody_that_exists_and_its_secrets_are_out_of_reach(server: Container) -> None:
    pid = server.run("systemctl", "show", UNIT, "--property=MainPID", "--value").strip()
    owner = server.run("stat", "--format=%U", f"/proc/{pid}").strip()
    assert owner not in ("root", "alice", "bob", "eve")
    assert server.run("stat", "--format=%a", f"{STATE}/chatbridge.db") == "600\n"
    assert server.run("stat", "--format=%a %U %G", "/run/chatbridge/hub.sock") == (
        "660 root chatbridge\n"
    )
    assert TOKEN not in server.run("systemctl", "show", UNIT)
    assert TOKEN not in server.run("journalctl", f"--unit={UNIT}")


async def test_two_users_with_the_same_words_in_the_same_folder_have_two_questions(
    alice: Login, bob: Login, tmp_path: Path
) -> None:
    async with (
        alice.agent(SHOP, tmp_path / "alice") as hers,
        bob.agent(SHOP, tmp_path / "bob") as his,
        asking(hers) as her_call,
        asking(his) as his_call,
    ):
        for_her = await asyncio.to_thread(alice.sees_one)
        for_him = await asyncio.to_thread(bob.sees_one)
        assert for_her["id"] != for_him["id"]
        await asyncio.to_thread(alice.ask_hub, "answer", id=for_her["id"], words=["Yes"])
        await asyncio.to_thread(bob.ask_hub, "answer", id=for_him["id"], words=["No"])
        assert await asyncio.wait_for(her_call, PATIENCE) == "User selected: Yes"
        assert await asyncio.wait_for(his_call, PATIENCE) == "User selected: No"


async def test_neither_agent_nor_command_of_another_user_reaches_a_question(
    alice: Login, bob: Login, tmp_path: Path
) -> None:
    async with alice.agent(SHOP, tmp_path / "a") as hers, bob.agent(SHOP, tmp_path / "b") as his:
        ask_id = await ticket(hers)
        await asyncio.to_thread(alice.ask_hub, "answer", id=ask_id, words=["Yes"])

        fetched = await his.call_tool("wait_for_answer", {"askId": ask_id, "waitSeconds": 1})
        assert fetched.is_error
        assert "no question with this id" in text_of(fetched)
        summary = text_of(await his.call_tool("question_summary", {}))
        assert SECRET not in summary
        assert SECRET in text_of(await hers.call_tool("question_summary", {}))

        assert ask_id not in {it["id"] for it in bob.ask_hub("history")["asks"]}
        assert ask_id in {it["id"] for it in alice.ask_hub("history")["asks"]}
        assert bob.ask_hub("status")["open"] == 0
        assert len(bob.ask_hub("status")["links"]) == 1
        for do in ("answer", "cancel", "ask"):
            given = json.dumps({"id": ask_id, "words": ["No"]})
            refused = bob.container.tried(PYTHON, "-c", ASK_HUB, do, given, user="bob")
            assert "No open question" in refused.stderr


async def test_a_user_at_a_terminal_writes_to_their_own_agent_and_to_no_other(
    alice: Login, bob: Login, tmp_path: Path
) -> None:
    def told(user: str, agent: str) -> str:
        words = ("script", "-qec", f"{CHATBRIDGE} tell {agent} Use tabs", "/dev/null")
        return alice.container.tried(*words, user=user).stdout

    async with alice.agent(SHOP, tmp_path / "a") as hers, bob.agent(SHOP, tmp_path / "b") as his:
        for client in (hers, his):
            await client.list_tools()
        names = alice.chatbridge("agents", "--names").split()
        assert names == ["alice-shop"]
        without = alice.container.tried(CHATBRIDGE, "tell", *names, "Use tabs", user="alice")
        assert "Only a person at a terminal" in without.stderr
        assert "No agent 'alice-shop' is connected. There are: bob-shop" in " ".join(
            told("bob", "alice-shop").split()
        )
        assert "gets it with its next step" in told("alice", "alice-shop")
        assert "No message" in text_of(await his.call_tool("check_messages", {}))
        assert text_of(await hers.call_tool("check_messages", {})).endswith(": Use tabs")


def test_pairing_is_roots(alice: Login) -> None:
    done = alice.container.tried(PYTHON, "-c", PAIR, user="alice")
    assert "for root alone" in done.stderr


async def test_a_user_outside_the_group_gets_nothing_and_has_a_hub_of_their_own(
    server: Container, tmp_path: Path
) -> None:
    eve = Login(server, "eve")
    secret = "/etc/chatbridge/credentials"
    assert server.python(LOOK, STATE, secret, f"{secret}/telegram__token", user="eve").split() == (
        ["PermissionError"] * 4
    )
    async with eve.agent(SHOP, tmp_path / "eve") as client:
        await client.list_tools()
        assert eve.holder()["started_by"] == "link"
    eve.chatbridge("stop")


async def test_a_projects_file_in_a_home_counts_though_the_hub_cannot_look_there(
    bob: Login, tmp_path: Path
) -> None:
    bob.container.write("/home/bob/quiet/.chatbridge.toml", "enabled = false\n", user="bob")
    async with bob.agent("/home/bob/quiet", tmp_path / "quiet") as client:
        assert "ask_user" not in {tool.name for tool in (await client.list_tools()).tools}
    async with bob.agent("/home/bob", tmp_path / "home") as client:
        assert "ask_user" in {tool.name for tool in (await client.list_tools()).tools}


def test_root_gets_a_link_to_the_machines_inbox(server: Container) -> None:
    said = server.run("env", f"CHATBRIDGE_STATE_DIR={STATE}", CHATBRIDGE, "inbox")
    assert re.search(r"http://127\.0\.0\.1:\d+/login/", said)
    assert server.run("stat", "--format=%U", STATE) != "root\n"


def test_a_user_of_the_machines_hub_is_told_whose_its_inbox_is(alice: Login) -> None:
    done = alice.container.tried(CHATBRIDGE, "inbox", user="alice")
    assert done.returncode == 1
    assert "chatbridge pending" in done.stderr


def test_root_makes_a_token_in_the_name_of_the_machines_hub(server: Container) -> None:
    env = ("env", f"CHATBRIDGE_STATE_DIR={STATE}")
    token = server.run(*env, CHATBRIDGE, "token", "add", "build-server")
    assert token.startswith("cb_")
    owners = server.run("sh", "-c", f"stat --format=%U {STATE}/http-tokens.json {STATE}/hub.lock")
    assert len(set(owners.split())) == 1
    assert "build-server" in server.run(*env, CHATBRIDGE, "token", "list")
    server.run(*env, CHATBRIDGE, "token", "remove", "build-server")


async def test_what_the_page_has_for_root_works_and_a_restart_is_invisible_to_a_waiting_agent(
    alice: Login, tmp_path: Path
) -> None:
    server = alice.container
    (block,) = (block for block in blocks() if block.first == FIRST_LINE)
    before = {line for _, line in commands_of(block)}
    after = [it for it in commands(NO_COMMANDS) if way_of(it) == SERVER and it not in before]
    assert f"sudo systemctl restart {UNIT}" in after
    said = {}
    async with alice.agent(SHOP, tmp_path / "log") as client, asking(client) as call:
        ask = await asyncio.to_thread(alice.sees_one)
        for line in after:
            filled = line.replace("NAME", "build-server-2")
            said[line] = await asyncio.to_thread(as_root, server, filled)
        await asyncio.to_thread(alice.ask_hub, "answer", id=ask["id"], words=["Yes"])
        assert await asyncio.wait_for(call, PATIENCE) == "User selected: Yes"
    shown = "".join(said.values())
    for words in (r"/login/", r"(?m)^cb_", r"hub \S+ ready"):
        assert re.search(words, shown), (words, said)


async def test_a_picture_is_decoded_within_what_the_unit_allows(
    alice: Login, tmp_path: Path
) -> None:
    """The worker sets limits of its own, and the unit forbids system calls."""
    picture, server = png(64, 48), alice.container
    data = {"data": b64encode(picture).decode(), "name": "layout.png"}
    arguments = {"questions": [QUESTION], "wait": False, "attachments": [data]}
    async with alice.agent(SHOP, tmp_path / "log") as client:
        ask = json.loads(text_of(await client.call_tool("ask_user", arguments)))["askId"]
    digest = sha256(picture).hexdigest()
    stored = server.run("stat", "--format=%a", f"{STATE}/attachments/{digest}")
    said = server.run("env", f"CHATBRIDGE_STATE_DIR={STATE}", CHATBRIDGE, "inbox")
    link = next(word for word in said.split() if word.startswith("http://"))
    preview = f"/asks/{ask}/files/{digest}/preview"
    assert server.python(IN_THE_INBOX, link, preview) == "image/png\n"
    assert stored == "600\n"
