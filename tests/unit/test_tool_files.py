"""Files in the arguments of tools: what is taken, what is refused with its field, what is kept."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbridge.attachments.files import AttachmentFiles
from chatbridge.attachments.project_files import open_in_project
from chatbridge.attachments.settings import AttachmentLimits
from chatbridge.core.asks import transitions
from chatbridge.core.errors import ToolInputError
from chatbridge.core.model import (
    Agent,
    Ask,
    AskRequest,
    Attachment,
    AttachmentKind,
    CallName,
    Option,
    Project,
    Question,
    QuestionType,
)
from chatbridge.tools import ask_user, auq
from chatbridge.tools.attachments import FileShape, GivenFile, ToolFiles
from chatbridge.tools.call import Peer, ToolCall
from tests.fakes.clock import StillClock
from tests.fakes.sample_files import png

Json = dict[str, Any]
LIMITS = ask_user.Limits(default=300.0, longest=1800.0)
AGENT = Agent(client="claude-code", name="Claude Code")
SHELL = Agent(client="chatbridge-cli", name="shell")
REMOTE = Project(key="http:ci:agent", name="ci")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "shots").mkdir(parents=True)
    (folder / "shots/a.png").write_bytes(png(3, 2))
    (folder / "shots/b.png").write_bytes(png(4, 2))
    (folder / "build.log").write_text("error: no such table\n")
    (tmp_path / "private.txt").write_text("not for agents")
    return folder


@pytest.fixture
def files(tmp_path: Path) -> ToolFiles:
    limits = AttachmentLimits(most=3, largest=2_000, outsider=500)
    state = tmp_path / "state"
    return ToolFiles(
        store=AttachmentFiles(state, limits, StillClock()),
        open=open_in_project,
        most_data=limits.outsider,
        own=(str(state),),
    )


def call(
    project: Path | Project | None, folder: Path | None = None, *, agent: Agent = AGENT
) -> ToolCall:
    """None: the agent was started outside of any project."""
    if isinstance(project, Path):
        folder = folder or project
        project = Project(key=str(project), name=project.name)
    return ToolCall(
        name=CallName(link="l", request="1"),
        id="call",
        project=project or Project(key="link:l", name="no project"),
        peer=Peer(agent=agent),
        report=None,
        clock=StillClock(),
        folder=None if folder is None else str(folder),
    )


def attached(*given: Json) -> tuple[GivenFile, ...]:
    arguments = {"question": "?", "attachments": list(given)}
    return ask_user.parse(arguments, LIMITS, declared_defaults=True).files


def content_of(path: str) -> bytes:
    return Path(path).read_bytes()


def data(content: bytes, **more: str) -> Json:
    return {"data": b64encode(content).decode(), "name": "a.txt", **more}


# ── arguments ─────────────────────────────────────────────────────────────────────────────────────

LAYOUTS: list[Json] = [
    {"label": "Plain", "image": "shots/a.png"},
    {"label": "None"},
    {"label": "Wide", "image": {"path": "shots/b.png", "caption": "With a sidebar"}},
]
LOG = {"path": "build.log", "caption": "The last lines"}


def of_questions() -> tuple[GivenFile, ...]:
    questions = [{"question": "Why?"}, {"question": "?", "type": "select", "options": LAYOUTS}]
    given = {"questions": questions, "attachments": [LOG]}
    return ask_user.parse(given, LIMITS, declared_defaults=True).files


def of_one_question() -> tuple[GivenFile, ...]:
    given = {"question": "?", "options": LAYOUTS, "attachments": [LOG]}
    return ask_user.parse(given, LIMITS, declared_defaults=True).files


def of_auq() -> tuple[GivenFile, ...]:
    options = [{"label": "a"}, {"label": "b"}]
    questions = [
        {"prompt": "?", "title": "1", "options": options},
        {"prompt": "?", "title": "2", "options": LAYOUTS},
    ]
    given = {"questions": questions, "attachments": [LOG]}
    return auq.parse(given, auq.Limits(questions=5, options=5)).files


@pytest.mark.parametrize(
    ("parse", "prefix", "question"),
    [(of_questions, "questions[1].", 1), (of_one_question, "", 0), (of_auq, "questions[1].", 1)],
)
def test_each_tool_finds_its_files_and_where_they_were_given(
    parse: Callable[[], tuple[GivenFile, ...]], prefix: str, question: int
) -> None:
    plain, wide = FileShape(path="shots/a.png"), FileShape.model_validate(LAYOUTS[2]["image"])
    assert parse() == (
        GivenFile(place=f"{prefix}options[0].image", file=plain, option=(question, 0)),
        GivenFile(place=f"{prefix}options[2].image", file=wide, option=(question, 2)),
        GivenFile(place="attachments[0]", file=FileShape.model_validate(LOG)),
    )


def test_without_files_there_are_none() -> None:
    nothing: tuple[Json, ...] = ({}, {"attachments": None}, {"attachments": []})
    for none in nothing:
        arguments = {"question": "?", **none}
        assert ask_user.parse(arguments, LIMITS, declared_defaults=True).files == ()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"attachments": "build.log"}, "attachments"),
        ({"attachments": [7]}, "attachments[0]"),
        ({"attachments": [LOG, {"path": 7}]}, "attachments[1].path"),
        ({"attachments": [{"path": ""}]}, "attachments[0].path"),
        ({"attachments": [{**LOG, "caption": "x" * 1_001}]}, "attachments[0].caption"),
        ({"options": [{"label": "a", "image": 7}]}, "options[0].image"),
        ({"options": [{"label": "a", "image": {"path": []}}]}, "options[0].image.path"),
    ],
)
def test_what_is_no_file_is_refused_with_its_field(wrong: Json, field: str) -> None:
    with pytest.raises(ToolInputError) as refused:
        ask_user.parse({"question": "?", **wrong}, LIMITS, declared_defaults=True)
    assert refused.value.path == field
    assert len(str(refused.value).splitlines()) == 2
    assert "Shape" not in str(refused.value)


def test_a_path_alone_will_do() -> None:
    given = ask_user.parse(
        {"question": "?", "attachments": ["build.log"]}, LIMITS, declared_defaults=True
    )
    assert given.files == tuple(attached({"path": "build.log"}))


# ── what is taken ─────────────────────────────────────────────────────────────────────────────────


async def test_a_file_of_the_project_is_copied_as_it_is_now(files: ToolFiles, shop: Path) -> None:
    log, shot = await files.add(attached(LOG, {"path": str(shop / "shots/a.png")}), call(shop))
    (shop / "build.log").write_text("changed")
    stored = files.store.path(log)
    assert stored
    assert content_of(stored) == b"error: no such table\n"
    assert (log.name, log.type, log.size, log.caption) == (
        "build.log",
        "text/plain",
        21,
        LOG["caption"],
    )
    assert (shot.name, shot.kind, shot.caption) == ("a.png", AttachmentKind.PICTURE, None)


async def test_a_relative_path_begins_where_the_agent_was_started(
    files: ToolFiles, shop: Path
) -> None:
    inside = call(shop, shop / "shots")
    first, second = await files.add(attached({"path": "a.png"}, {"path": "../build.log"}), inside)
    assert (first.name, second.name) == ("a.png", "build.log")


@pytest.mark.parametrize("project", [REMOTE, Project(key="uid:7:/home/ada/shop", name="ada/shop")])
async def test_an_agent_without_a_folder_here_sends_the_content(
    files: ToolFiles, project: Project
) -> None:
    sent = attached(data(b"some text", caption="A log"))
    (file,) = await files.add(sent, call(project, Path("/home/ada/shop")))
    assert (file.name, file.type, file.size, file.caption) == ("a.txt", "text/plain", 9, "A log")


async def test_a_local_agent_may_send_the_content_too(files: ToolFiles, shop: Path) -> None:
    first, second = await files.add(attached(data(b"some text"), LOG), call(shop))
    assert (first.size, second.size) == (9, 21)


async def test_a_command_attaches_what_its_user_can_read(files: ToolFiles, shop: Path) -> None:
    private = attached({"path": str(shop.parent / "private.txt")})
    (file,) = await files.add(private, call(shop, agent=SHELL))
    assert file.name == "private.txt"


# ── what is refused ───────────────────────────────────────────────────────────────────────────────


async def refusal(files: ToolFiles, given: tuple[GivenFile, ...], by: ToolCall) -> tuple[str, str]:
    """The field, and the whole text."""
    with pytest.raises(ToolInputError) as refused:
        await files.add(given, by)
    assert len(str(refused.value).splitlines()) == 2
    return refused.value.path, str(refused.value)


@pytest.mark.parametrize(
    "path",
    ["../private.txt", "/etc/passwd", "link.txt", "shots", "gone.txt", "a\0b", "~/x", "pipe"],
)
async def test_what_lies_outside_or_is_no_file_is_refused_with_its_field(
    files: ToolFiles, shop: Path, path: str
) -> None:
    (shop / "link.txt").symlink_to("../private.txt")
    os.mkfifo(shop / "pipe")
    field, _ = await refusal(files, attached(LOG, {"path": path}), call(shop))
    assert field == "attachments[1].path"


async def test_nobody_attaches_what_is_chatbridges_own(files: ToolFiles, shop: Path) -> None:
    own = shop.parent / "state"
    own.mkdir(exist_ok=True)
    (own / "web-token").write_text("secret")
    (shop / "link").symlink_to(own)
    for agent, path in ((SHELL, str(own / "web-token")), (AGENT, "link/web-token")):
        field, said = await refusal(files, attached({"path": path}), call(shop, agent=agent))
        assert field == "attachments[0].path"
        assert "secret" not in said


async def test_an_agent_in_the_home_folder_attaches_nothing_by_its_path(
    files: ToolFiles, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(shop))
    for folder in (shop, shop.parent):
        field, _ = await refusal(files, attached({"path": "build.log"}), call(None, folder))
        assert field == "attachments[0].path"
    (file,) = await files.add(attached({"path": "a.png"}), call(None, shop / "shots"))
    assert file.name == "a.png"


async def test_an_agent_without_a_folder_here_cannot_name_a_path(
    files: ToolFiles, shop: Path
) -> None:
    for by in (call(REMOTE), call(replace(REMOTE, key="uid:7:/src"), shop), call(None)):
        field, said = await refusal(files, attached({"path": "build.log"}), by)
        assert field == "attachments[0].path"
        assert "base64" in said


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "path"),
        ({"caption": "nothing"}, "path"),
        ({"path": "build.log", "data": "aGk=", "name": "a"}, "data"),
        ({"data": "aGk="}, "name"),
        ({"data": "aGk=", "name": " "}, "name"),
        ({"data": "not base64!", "name": "a"}, "data"),
        ({"data": "aGk", "name": "a"}, "data"),
        ({"data": "", "name": "a"}, "data"),
        ({"data": "é", "name": "a"}, "data"),
    ],
)
async def test_half_a_file_is_refused_with_what_is_wrong(
    files: ToolFiles, shop: Path, given: Json, field: str
) -> None:
    path, said = await refusal(files, attached(LOG, given), call(shop))
    assert path == f"attachments[1].{field}"
    assert len(said) < 500


async def test_more_files_than_the_owner_allows_are_refused_and_none_is_stored(
    files: ToolFiles, shop: Path
) -> None:
    field, said = await refusal(files, attached(LOG, LOG, LOG, LOG), call(shop))
    assert field == "attachments[3]"
    assert "at most 3 files fit into one call" in said
    assert not (shop.parent / "state/attachments").exists()
    field, _ = await refusal(files, (*of_one_question(), *attached(LOG)), call(shop))
    assert field == "attachments[0]"  # the pictures of options count, too


async def test_files_that_are_too_large_together_are_refused(files: ToolFiles, shop: Path) -> None:
    (shop / "half.txt").write_text("x" * 1_500)
    field, _ = await refusal(
        files, attached({"path": "half.txt"}, {"path": "half.txt"}), call(shop)
    )
    assert field == "attachments[1].path"


async def test_less_can_be_sent_as_content_and_that_is_counted_together(
    files: ToolFiles, shop: Path
) -> None:
    await files.add(attached(data(b"x" * 500)), call(REMOTE))
    field, _ = await refusal(files, attached(data(b"x" * 501)), call(REMOTE))
    assert field == "attachments[0].data"
    field, _ = await refusal(files, attached(data(b"x" * 400), LOG, data(b"y" * 101)), call(shop))
    assert field == "attachments[2].data"


async def test_the_image_of_an_option_has_to_be_one(files: ToolFiles, shop: Path) -> None:
    options = [{"label": "a", "image": "shots/a.png"}, {"label": "b", "image": "build.log"}]
    given = ask_user.parse({"question": "?", "options": options}, LIMITS, declared_defaults=True)
    field, said = await refusal(files, given.files, call(shop))
    assert field == "options[1].image.path"
    assert "text/plain" in said


@given(content=st.text(max_size=300), name=st.text(max_size=20), path=st.text(max_size=20))
async def test_whatever_is_given_is_a_file_or_refused_in_two_lines(
    tmp_path_factory: pytest.TempPathFactory, content: str, name: str, path: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    limits = AttachmentLimits()
    store = AttachmentFiles(folder / "state", limits, StillClock())
    files = ToolFiles(store=store, open=open_in_project, most_data=100, own=())
    project = folder / "p"
    project.mkdir()
    for each in ({"data": content, "name": name}, {"path": path}):
        said = "one\nline"
        try:
            (file,) = await files.add(attached(each), call(project))
            assert "/" not in file.name
        except ToolInputError as error:
            said = str(error)
        assert said.count("\n") == 1


# ── the request ───────────────────────────────────────────────────────────────────────────────────


def request(shop: Path) -> AskRequest:
    options = tuple(Option(label=layout["label"]) for layout in LAYOUTS)
    question = Question(id="q", text="?", type=QuestionType.SELECT, options=options)
    project = Project(key=str(shop), name="shop")
    return AskRequest(
        project=project, agent=AGENT, tool="ask_user", dialect="question", questions=(question,)
    )


def opened(asked: AskRequest) -> Ask:
    return transitions.open_ask(asked, now=1000.0, deadline=None)


def shown(asked: AskRequest | Ask) -> tuple[list[Attachment | None], tuple[Attachment, ...]]:
    return [option.image for option in asked.questions[0].options], asked.attachments


async def test_the_pictures_come_to_their_options_and_the_rest_to_the_ask(
    files: ToolFiles, shop: Path
) -> None:
    bare = request(shop)
    asked = await files.attach(bare, of_one_question(), call(shop), None)
    (plain, none, wide), (log,) = shown(asked)
    assert plain
    assert wide
    assert none is None
    assert [plain.name, wide.name, log.name] == ["a.png", "b.png", "build.log"]
    assert wide.caption == "With a sidebar"
    assert asked.fingerprint != bare.fingerprint


async def test_a_repeated_call_has_the_files_of_before_though_they_have_changed(
    files: ToolFiles, shop: Path
) -> None:
    first = await files.attach(request(shop), of_one_question(), call(shop), None)
    (shop / "shots/a.png").write_bytes(png(9, 2))
    (shop / "build.log").unlink()
    again = await files.attach(request(shop), of_one_question(), call(shop), opened(first))
    assert again == first


async def test_another_question_under_the_same_name_reads_its_files_anew(
    files: ToolFiles, shop: Path
) -> None:
    first = await files.attach(request(shop), of_one_question(), call(shop), None)
    (shop / "shots/a.png").write_bytes(png(9, 2))
    other = replace(request(shop), title="Another", fingerprint="")
    asked = await files.attach(other, of_one_question(), call(shop), opened(first))
    assert shown(asked)[0][0] != shown(first)[0][0]
    assert asked.fingerprint != first.fingerprint


# ── the schema ────────────────────────────────────────────────────────────────────────────────────


def test_the_schema_shows_what_an_agent_can_give(files: ToolFiles) -> None:
    here = Project(key="/src/shop", name="shop")
    local, remote = Peer(agent=AGENT, local=True), Peer(agent=AGENT)
    shown = files.fields(here, local)
    assert shown.attachments["maxItems"] == 3
    assert [*shown.attachments["items"]["properties"]] == ["path", "caption"]
    assert shown.image["anyOf"] == [{"type": "string"}, shown.attachments["items"]]
    for project, peer in ((here, remote), (REMOTE, local)):
        shown = files.fields(project, peer)
        assert [*shown.attachments["items"]["properties"]] == ["data", "name", "caption"]
        assert shown.image["required"] == ["data", "name"]


def test_the_schemas_of_the_tools_have_the_fields(files: ToolFiles) -> None:
    fields = files.fields(Project(key="/src/shop", name="shop"), Peer(agent=AGENT, local=True))
    own = ask_user.input_schema(LIMITS, fields)["properties"]
    other = auq.ask_schema(auq.Limits(questions=5, options=5), fields)["properties"]
    assert own["attachments"] == other["attachments"] == fields.attachments
    single = own["options"]["items"]["anyOf"][1]
    several = own["questions"]["items"]["properties"]["options"]["items"]["anyOf"][1]
    of_auq = other["questions"]["items"]["properties"]["options"]["items"]
    for option in (single, several, of_auq):
        assert option["properties"]["image"] == fields.image
