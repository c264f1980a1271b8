"""How each command of the documentation is carried out. The first pattern that fits counts.

A command that fits none fails tests/unit/test_docs_commands.py. Best is to run it; a program of
others that cannot run here gets a stand-in; what only a person at another place can do is at least
held to the parser, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from tests.documents.pages import ROOT
from tests.fakes.pty_person import ENTER

TOKEN_FILE = "token.txt"


class How(Enum):
    RUN = "run as it is"
    STAND_IN = "run with a stand-in for a program of others"
    CONTAINER = "run under systemd, in a container"
    ELSEWHERE = "run by another test"
    PARSED = "parsed only"


@dataclass(frozen=True)
class Way:
    how: How
    why: str = ""
    """Of what is not run as it is."""
    fills: Mapping[str, str] = field(default_factory=dict)
    """What stands for something else on the page, and what to put there."""
    before: tuple[str, ...] = ()
    """What has to have been run."""
    then: str = ""
    """Another command of the pages, run right after it in the same way."""
    within: str = ""
    """The command whose `then` this one is."""
    code: int = 0
    shows: str = ""
    """A part of what it prints."""
    plays: tuple[tuple[str, str], ...] = ()
    """At a terminal: what the screen shows, and which keys a person presses then."""
    answer: str = ""
    """What a person answers in the inbox meanwhile."""
    stays: str = ""
    """It goes on until Ctrl-C: what it shows once it is there."""
    apart: bool = False
    """On a machine of its own: it changes settings, or needs the hub to itself."""
    stdin: str = ""
    in_sources: bool = False
    """In the folder of chatbridge's own sources."""
    by: str = ""
    """The other test."""


def run(shows: str = "", **more: object) -> Way:
    return Way(How.RUN, shows=shows, **more)  # type: ignore[arg-type]


def stand_in(why: str, **more: object) -> Way:
    return Way(How.STAND_IN, why, **more)  # type: ignore[arg-type]


def parsed(why: str, **more: object) -> Way:
    return Way(How.PARSED, why, **more)  # type: ignore[arg-type]


def elsewhere(by: str, why: str, **more: object) -> Way:
    return Way(How.ELSEWHERE, why, by=by, **more)  # type: ignore[arg-type]


CONTAINER = Way(How.CONTAINER, "needs systemd as the first process")
SERVER = elsewhere(
    "tests/acceptance/test_system_service.py::server",
    "needs a machine's root: the container's of those tests is set up with these lines",
)
DATABASE = elsewhere(
    "tests/acceptance/test_team_database_page.py::"
    "test_the_page_leads_from_an_empty_server_to_a_restored_backup",
    "needs a PostgreSQL server",
)
NOT_WHOLE = "names a command whose rest is the reader's"
OTHERS_IMAGE = "needs an image, which takes minutes: make container builds it and tries it"
LONG = "takes minutes, and is what runs these tests or comes beside them: make -n says what it does"
YES = (("Write these? [Y/n]", ENTER),)
GIT = (f"install -D -m 600 -t ~/.config/chatbridge/tools {ROOT}/config/tools/git.json",)
USUAL_STATE = {"~/.local/state/chatbridge": "~/s"}
COPY = "cp ~/s/chatbridge.db ~/s/before.db"
OPEN = {"3f9a2c": "{ask}"}
ANSWERS = '{"answers": [{"questionId": "c", "values": ["red"]}]}'
CLIENT = r"(claude-code|codex|cursor|vscode|gemini|opencode|cline|zed|goose|windsurf)"

WAYS: tuple[tuple[str, Way], ...] = (
    # ── chatbridge: setting up ────────────────────────────────────────────────────────────────────
    (
        r"chatbridge setup",
        elsewhere(
            "tests/acceptance/test_setup_agents.py::"
            "test_the_browser_alone_and_the_agents_that_are_here",
            "takes a person through seven screens",
        ),
    ),
    (
        r"chatbridge setup --no-hooks --no-instructions",
        elsewhere(
            "tests/acceptance/test_setup_agents.py::"
            "test_nothing_is_written_into_an_agents_settings_that_is_not_wanted",
            "takes a person through seven screens",
        ),
    ),
    (
        r"chatbridge setup --non-interactive --telegram-token-file token\.txt .*",
        run(
            "who may answer on Telegram",
            apart=True,
            # A service needs systemd: see `chatbridge service`.
            fills={"123456789": "{person}", " --service": " --no-service"},
        ),
    ),
    (
        r"chatbridge setup --non-interactive --ntfy-topic .*",
        elsewhere(
            "tests/integration/test_ntfy_setup.py::"
            "test_a_topic_a_server_and_a_token_are_tried_and_written",
            "would ring at ntfy.sh",
        ),
    ),
    (
        r"chatbridge setup --non-interactive --phone",
        elsewhere(
            "tests/integration/test_phone_inbox.py::"
            "test_a_script_sets_it_up_and_nothing_is_written_where_it_cannot_be",
            "needs a tailnet",
        ),
    ),
    (
        r"chatbridge setup --non-interactive",
        parsed(NOT_WHOLE, fills={"--non-interactive": "--non-interactive --web-only"}),
    ),
    (r"chatbridge connect", run("codex", before=("mkdir -p ~/.codex",))),
    (r"chatbridge disconnect", parsed(NOT_WHOLE, fills={"disconnect": "disconnect codex"})),
    (r"chatbridge connect --print", run('"mcpServers"')),
    (r"chatbridge connect <client>", run(fills={"<client>": "codex"}, plays=YES, apart=True)),
    (
        rf"chatbridge connect {CLIENT}",
        run(plays=YES, apart=True, then=r"chatbridge disconnect \1"),
    ),
    (rf"chatbridge disconnect {CLIENT}", run(within=r"chatbridge connect \1")),
    (
        r"chatbridge connect claude-code --workspace ~/agents/\* --yes",
        run("agents", before=("mkdir -p ~/agents/one ~/agents/two",), apart=True),
    ),
    (
        r"chatbridge disconnect claude-code --workspace …",
        run(
            fills={"…": "~/agents/*"},
            plays=YES,
            apart=True,
            before=(
                "mkdir -p ~/agents/one ~/agents/two",
                "chatbridge connect claude-code --workspace ~/agents/* --yes",
            ),
        ),
    ),
    (
        r"chatbridge pair( slack| discord)?",
        elsewhere(
            "tests/acceptance/test_pair_command.py::"
            "test_only_who_is_confirmed_is_paired_and_others_hear_nothing",
            "needs a phone",
        ),
    ),
    (r"chatbridge people", run("Nobody is paired.")),
    (
        r"chatbridge people remove( ID)?",
        elsewhere(
            "tests/acceptance/test_pair_command.py::"
            "test_people_are_listed_and_who_is_taken_out_can_do_nothing_any_more",
            "needs somebody who is paired",
            fills={"remove ID": "remove", "remove": "remove 5"},
        ),
    ),
    (r"chatbridge store copy .*", DATABASE),
    (
        r"chatbridge store copy|store copy",
        parsed(NOT_WHOLE, fills={"store copy": "store copy --dry-run"}),
    ),
    (r"chatbridge doctor", run("✓ database")),
    (r"chatbridge doctor --json", run('"checks"')),
    (r"chatbridge doctor --tonight", run("Ready for tonight?", code=1)),
    (r"chatbridge service (install|status|logs( -f)?|restart|start|stop|uninstall)", CONTAINER),
    (
        r"chatbridge service install --linger",
        parsed("is `chatbridge service install`, and says yes where that one asks"),
    ),
    (r"chatbridge service", parsed(NOT_WHOLE, fills={"service": "service status"})),
    # ── chatbridge: asking and answering ──────────────────────────────────────────────────────────
    (r'chatbridge ask "[^"]+" -o Yes -o No', run("Yes", answer="Yes")),
    (r"chatbridge ask", run("Yes", fills={"ask": 'ask "Deploy?" -o Yes -o No'}, answer="Yes")),
    (
        r"chatbridge (ask|notify) --hub .*",
        elsewhere(
            "tests/acceptance/test_ask_over_http.py::"
            "test_the_answer_comes_back_and_no_hub_is_started_here",
            "needs a hub on another machine",
            fills={" URL": ' https://agents.example.org "Deploy?"'},
        ),
    ),
    (
        r"chatbridge ask --attach( FILE)?",
        run(
            "Yes",
            fills={" FILE": "", "--attach": '"Deploy?" -o Yes --attach deploy'},
            answer="Yes",
        ),
    ),
    (
        r"chatbridge notify --attach FILE",
        run(fills={"--attach FILE": '"Deployed" --attach deploy'}),
    ),
    (r"chatbridge show (3f9a2c|ID)", run("build.log", fills={**OPEN, "ID": "{ask}"})),
    (r"chatbridge show", run("build.log", fills={"show": "show {ask}"})),
    (r"chatbridge show 3f9a2c 2", run("notes.txt", fills=OPEN)),
    (r"chatbridge show 3f9a2c --save \.", run("./notes.txt", fills=OPEN)),
    (r"if \[ .*chatbridge ask --confirm .* \./deploy; fi", run("deployed", answer="yes")),
    (r"make 2>&1 \| tail -5 \| chatbridge notify - --title Build", run("")),
    (r"chatbridge summary --since 22:30", run("waiting", before=("echo {ask}",))),
    (r"chatbridge pending", run("Which colour?", before=("echo {ask}",))),
    (
        r"chatbridge pending --watch",
        run(stays="Which colour?", before=("echo {ask}",), apart=True),
    ),
    (r"chatbridge answer 3f9a2c", run("Which colour?", fills=OPEN, plays=(("red", "1" + ENTER),))),
    (r"chatbridge answer 3f9a2c \d", run("Kept.", fills=OPEN)),
    (r"chatbridge answer 3f9a2c Not today", run("Kept.", fills=OPEN)),
    (r"chatbridge answer 3f9a2c --json", run("Kept.", fills=OPEN, stdin=ANSWERS)),
    (r"chatbridge extend 3f9a2c 15min", run("Ends ", fills=OPEN)),
    (
        r"chatbridge (extend|snooze) (3f9a2c|ID) (1h|until 08:00)",
        # max_timeout is 30 min there
        run(fills={**OPEN, "ID": "{ask}", "1h": "10min", "until 08:00": "10min"}),
    ),
    (r"chatbridge answer", run("Kept.", fills={"answer": "answer {ask} 1"})),
    (r"chatbridge history", run("Which colour?", before=("chatbridge answer {ask} 1",))),
    (
        r"chatbridge quiet( (on( 2h)?|until 08:00|off))?",
        run("No regular quiet hours. Now: ", before=("chatbridge inbox",)),
    ),
    (r"chatbridge audit( --since 7d)?( --json)?", run()),
    (r"chatbridge stats", run("Median answer after", before=("chatbridge answer {ask} 1",))),
    (r"chatbridge stats --json", run('"medianSeconds"', before=("chatbridge answer {ask} 1",))),
    (
        r"chatbridge inbox --phone( --yes)?",
        elsewhere(
            "tests/acceptance/test_phone.py::"
            "test_a_phone_scans_the_terminals_code_and_answers_over_https",
            "needs a tailnet, and a phone",
        ),
    ),
    (r"chatbridge inbox( --open)?", run("Open this link (works once, 10 minutes):")),
    (r"chatbridge status", run("hub", before=("chatbridge inbox",))),
    (r"chatbridge stop", run("has stopped.", before=("chatbridge inbox",))),
    (r"chatbridge restart", run("runs again", before=("chatbridge inbox",))),
    (r"chatbridge --version", run("chatbridge ")),
    (r"chatbridge version", run("chatbridge ")),
    (r"chatbridge --help", run("usage: chatbridge <command>")),
    (
        r"(chatbridge )?[a-z]+ --help",
        elsewhere(
            "tests/unit/test_docs.py::"
            "test_each_help_is_once_on_the_command_lines_pages_word_for_word",
            "each command's help is printed there",
        ),
    ),
    (
        r"chatbridge completion (bash|zsh|fish)( > .*)?",
        run(before=("mkdir -p ~/.config/fish/completions",)),
    ),
    (
        r"(chatbridge|make) demo",
        elsewhere(
            "tests/acceptance/test_demo.py::test_without_a_terminal_the_demo_answers_by_itself",
            "takes some seconds",
        ),
    ),
    (r"chatbridge agents", run("No agent is connected.", before=("chatbridge inbox",))),
    (
        r"chatbridge tell( (shop-api|--take-back) .*)?",
        elsewhere(
            "tests/acceptance/test_command_line_tell.py::"
            "test_a_person_at_a_terminal_writes_and_an_agent_cannot_pass_for_one",
            "needs an agent in a terminal of its own",
            fills={"screen.png": "deploy", " < plan.md": ""},
        ),
    ),
    # ── chatbridge: agents ────────────────────────────────────────────────────────────────────────
    (r"chatbridge hook( --limit 28800)?", run(stdin="{}")),
    (r"chatbridge mcp( --limit 3600| --label= --limit 60)?", run()),
    (r"chatbridge mcp --limit", run(fills={"--limit": "--limit 3600"})),
    (r"chatbridge mcp --label", run(fills={"--label": "--label night"})),
    (
        r"chatbridge mcp --standalone",
        elsewhere(
            "tests/acceptance/test_standalone.py::"
            "test_it_ends_at_once_when_its_input_is_the_null_device",
            "takes a second to import everything",
        ),
    ),
    (r"chatbridge hub", run(stays="ready", apart=True)),
    (
        r"chatbridge hub --system",
        parsed("needs the socket that systemd passes"),
    ),
    (
        r"chatbridge serve( --http 127\.0\.0\.1:8788)?",
        elsewhere(
            "tests/acceptance/test_serve.py::test_an_official_client_asks_and_gets_the_answer",
            "takes two seconds to import everything, and a port that may be taken",
        ),
    ),
    (r"chatbridge token add (build-server|NAME)", run("cb_", apart=True)),
    (
        r"chatbridge token remove (build-server|NAME)",
        run(
            "build-server",
            before=("chatbridge token add build-server",),
            fills={"NAME": "build-server"},
            apart=True,
        ),
    ),
    (r"chatbridge token list", run("")),
    (r"chatbridge token", run(fills={"token": "token list"})),
    (
        r"chatbridge tools (check|list)",
        run("git", before=GIT, apart=True),
    ),
    (r"chatbridge tools add git", run("git.json", apart=True)),
    (r"chatbridge tools add", run("cargo")),
    (
        r"(check|list) --json",
        run("", fills={"check": "chatbridge tools check", "list": "chatbridge tools list"}),
    ),
    (r"mcp --limit 3600", run(fills={"mcp": "chatbridge mcp"})),
    (
        r"python -m chatbridge hub --started-by link --report-fd N",
        elsewhere(
            "tests/integration/test_link_start.py::test_the_hubs_error_is_the_answer_to_every_call",
            "what a link itself runs",
            fills={"-fd N": "-fd 1"},
        ),
    ),
    # ── the sources ───────────────────────────────────────────────────────────────────────────────
    (r"make", run("make demo", in_sources=True)),
    (r"make [a-z]+( PYTEST_ARGS=.*)?", parsed(LONG)),
    (r"(CHAOS_\w+=\S+ )*make chaos( CHAOS_\w+=\S+)*", parsed(LONG)),
    (r"make load( LOAD_\w+=\S*)*", parsed(LONG)),
    (r"\.venv/bin/pytest --hypothesis-profile=explore", parsed("takes an hour")),
    (
        r"\.venv/bin/python -m pytest tests/contract -k notebook",
        elsewhere(
            "tests/contract/test_channel_nights.py::"
            "test_what_a_hub_that_was_killed_may_have_sent_is_not_sent_again",
            "is a part of these tests",
        ),
    ),
    (r"\.venv/bin/python -m tests\.(bench|chaos|clients|load)( .+)?", parsed("takes minutes")),
    (
        r"\.venv/bin/python -m tests\.documents\.(help_texts|claude_plugin)",
        parsed("writes into these pages"),
    ),
    (
        r"cd ~/\.local/state/chatbridge && umask 077 && python3 -c .*",
        run(
            before=("chatbridge inbox",), fills=USUAL_STATE, then="ls -l ~/s/before.db", apart=True
        ),
    ),
    (
        r"cd ~/\.local/state/chatbridge && chatbridge stop && rm .*",
        run("has stopped.", before=("chatbridge inbox", COPY), fills=USUAL_STATE, apart=True),
    ),
    # ── programs of others ────────────────────────────────────────────────────────────────────────
    (r"mkdir -p ~/\.config/chatbridge", run()),
    (
        r"chmod 600 ~/\.config/chatbridge/config\.toml",
        run(before=("mkdir -p ~/.config/chatbridge", "touch ~/.config/chatbridge/config.toml")),
    ),
    (
        r"git clone ADDRESS chatbridge",
        run("Cloning", fills={"ADDRESS": "sources"}, before=("git init -q sources",)),
    ),
    (r"git pull", parsed("is for a folder that came from elsewhere")),
    (r"cd chatbridge", run(before=("mkdir -p chatbridge",))),
    (r"chmod u\+x", run(fills={"u+x": "u+x deploy"})),
    (
        r"sqlite3 chatbridge\.db \.recover \| sqlite3 new\.db",
        parsed("not every machine has the program"),
    ),
    (
        r"claude -p(?: .*)?",
        stand_in("Claude Code needs an account", before=("chatbridge version",)),
    ),
    (r"claude plugin .*", stand_in("not every machine has Claude Code")),
    (r"pip install", parsed(NOT_WHOLE, fills={"install": "install --upgrade ."})),
    (r"pip (install|uninstall) .+", stand_in("installs from the network")),
    (r"pipx (install|upgrade|inject|uninstall) .*", stand_in("installs from the network")),
    (
        r"uv tool (install|upgrade|uninstall) .*",
        stand_in("installs from the network"),
    ),
    (
        r"uvx (--from chatbridge-mcp chatbridge|chatbridge-mcp==VERSION) .*",
        stand_in("installs from the network"),
    ),
    (r"ssh -R 8788:127\.0\.0\.1:8788 build-server", stand_in("needs another computer")),
    (r"caffeinate -is -t 36000", stand_in("is macOS's")),
    (r"(sudo )?tailscale .*", stand_in("needs a tailnet")),
    (r"sudo systemctl start tailscaled", stand_in("needs Tailscale's service")),
    (r"timedatectl set-ntp true", stand_in("sets this machine's clock")),
    (r"systemctl --user edit chatbridge\.service", stand_in("opens an editor")),
    (r"systemd-analyze security", stand_in("looks at units that are installed")),
    (r"ssh -t", stand_in(NOT_WHOLE, fills={"-t": "-t build-server chatbridge pair"})),
    (
        r"mkdir -m 700 config/container/secrets",
        run(before=("mkdir -p config/container",), apart=True),
    ),
    (
        rf"install -m 644 {TOKEN_FILE} config/container/secrets/telegram-token",
        run(before=("mkdir -p config/container/secrets", "touch token.txt"), apart=True),
    ),
    (
        r"podman exec chatbridge chatbridge",
        parsed(NOT_WHOLE, fills={"exec chatbridge chatbridge": "exec chatbridge chatbridge inbox"}),
    ),
    (r"podman .* > backup\.tar", parsed(OTHERS_IMAGE, fills={" > backup.tar": ""})),
    (r"podman .*", parsed(OTHERS_IMAGE)),
    (r"TELEGRAM_USER=\d+ docker compose .*", parsed(OTHERS_IMAGE)),
    (
        r"install -m 644 password\.txt config/container/secrets/store-password",
        run(before=("mkdir -p config/container/secrets", "touch password.txt"), apart=True),
    ),
    (r"mkdir -p -m 700 ~/\.config/chatbridge/secrets", run()),
    (
        r"install -m 600 /dev/stdin ~/\.config/chatbridge/secrets/chatbridge_store_password",
        run(before=("mkdir -p -m 700 ~/.config/chatbridge/secrets",), stdin="secret", apart=True),
    ),
    # ── a server's database ───────────────────────────────────────────────────────────────────────
    (r"(sudo -u postgres )?(createuser|createdb|pg_dump|pg_restore) .*", DATABASE),
    (r"docker exec -it", parsed(NOT_WHOLE, fills={"-it": "-it box chatbridge pair"})),
    (r"codex exec", parsed(NOT_WHOLE, fills={"exec": "exec hello"})),
    (r"npm run", parsed(NOT_WHOLE, fills={"run": "run build"})),
    # ── a server's root ───────────────────────────────────────────────────────────────────────────
    (r"sudo loginctl enable-linger NAME", CONTAINER),
    (
        r"sudo /opt/chatbridge/bin/pip install asyncpg",
        parsed("installs from the network", fills={"/opt/chatbridge/bin/pip": "pip"}),
    ),
    (
        r"sudo sh -c 'export CHATBRIDGE_CONFIG=/etc/chatbridge/config\.toml .* chatbridge audit'",
        elsewhere(
            "tests/acceptance/test_team_database_page.py::"
            "test_roots_command_reads_the_database_of_a_server_with_several_users",
            "needs a machine's root, and a PostgreSQL server",
        ),
    ),
    (r"sudo (python3 -m venv|/opt/chatbridge/bin/pip install|ln -s) .*", SERVER),
    (
        r"sudo install -D -m 644 chatbridge-postgres\.conf .*|.*/credentials/store_password",
        elsewhere(
            "tests/integration/test_units.py::"
            "test_the_drop_in_for_postgresql_is_installed_as_the_page_says",
            "needs a machine's root",
        ),
    ),
    (r"sudo (groupadd|usermod|install|tee) .*", SERVER),
    (r"cd /opt/chatbridge/lib/python3\*/site-packages/chatbridge/cli/service/units", SERVER),
    (r"sudo cp chatbridge-system\.service chatbridge-system\.socket /etc/systemd/system/", SERVER),
    (r"(sudo )?(systemctl|journalctl) .*(daemon-reload|chatbridge-system\.service)", SERVER),
    (
        r"sudo CHATBRIDGE_CONFIG=/etc/chatbridge/config\.toml "
        r"CHATBRIDGE_STATE_DIR=/var/lib/chatbridge chatbridge (inbox|token add NAME)",
        SERVER,
    ),
)

NO_COMMANDS = frozenset(
    {
        'question_ask {"question": "What is your preferred approach?"}',
    }
)
"""How blocks begin that have no language and are pictures or text. New ones: write ```text."""


def way_of(command: str) -> Way | None:
    for pattern, way in WAYS:
        if found := re.fullmatch(pattern, command):
            return replace(way, then=found.expand(way.then), within=found.expand(way.within))
    return None
