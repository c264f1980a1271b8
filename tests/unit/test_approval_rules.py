"""What a hostile agent makes of the owner's rules: only the plainest use fits one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbridge.core.approval_rules import Rule, command_fits, path_fits, plain_words
from chatbridge.core.model import Project
from chatbridge.tools.approvals.scope import ToolUse, fitting_rule, folders_of, plain_file
from chatbridge.tools.approvals.subject import Json

NOW = 1_000_000.0
NPM_TEST = Rule(tools=("Bash",), project="/src/shop", command=("npm", "test"))
LOOK_ALIKES = (
    *("npm\u00a0test", "npm\u2003test", "npm te\u200bst"),
    *("n\u0440m test", "\uff4epm test", "npm t\u0435st"),
)


# ── commands ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("command", ["npm test", "npm test -- --watch", "npm test a/b.js x=1"])
def test_a_command_with_the_rules_words_in_front_fits(command: str) -> None:
    assert command_fits(NPM_TEST, command)


@pytest.mark.parametrize(
    "command",
    [
        "npm test; rm -rf ~", "npm test && x", "npm test & x", "npm test | sh", "npm test $(x)",
        "npm test `x`", "npm test ${IFS}", "npm test <(x)", "npm test >> ~/.bashrc",
        "npm test\nrm -rf .", "npm test\n", "\nnpm test", "npm test\rx", "npm test\x00x",
        "npm\ttest", " npm test", "npm test ", "npm  test", "npm test *", "npm test {a,b}",
        "npm test ~", "npm test # x", "npm test !!", "npm test ^a^b", "npm test \\;x",
        'npm test "a"', "npm test 'a'", '"npm" test', "n\\pm test",
        "NPM_CONFIG_SCRIPT_SHELL=/tmp/x npm test", "npm=x test", "NPM test", "npm testing", "npm",
        "npm run test", "npm -c test", "/tmp/npm test", "(npm test)", "time npm test", "",
        *LOOK_ALIKES,
    ],
)  # fmt: skip
def test_whatever_a_shell_could_make_more_of_fits_no_rule(command: str) -> None:
    assert not command_fits(NPM_TEST, command)


def test_a_rule_of_one_word_covers_no_arguments() -> None:
    git = Rule(tools=("Bash",), project="/src/shop", command=("git",))
    assert command_fits(git, "git")
    for command in ("git status", "git -c core.pager=x log", "git -C / log"):
        assert not command_fits(git, command)


@given(st.text(alphabet="npm test;&|<>$`(){}*?[]~#!='\"\\\n\r\t\u00a0\u200bé", max_size=20))
def test_no_sign_of_a_shell_is_ever_in_a_simple_command(text: str) -> None:
    if (words := plain_words(text)) is not None:
        assert " ".join(words) == text
        assert not set(text) & set(";&|<>$`(){}*?[]~#!'\"\\\n\r\t^")
        assert text.isascii()


# ── files ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("x = 1\n")
    return folder


def write(path: object, project: Path, content: str = "x\n") -> ToolUse:
    given = {"file_path": str(path), "content": content}
    return ToolUse("Write", given, Project(key=str(project), name="shop"), str(project))


def fits(path: object, project: Path, pattern: str = "src/**", **more: str) -> bool:
    use = write(path, project, **more)
    rule = Rule(tools=("Write",), project=str(project), path=pattern)
    return fitting_rule([rule], use, plain_file(use), NOW) == 1


@pytest.mark.parametrize(
    ("pattern", "fitting", "others"),
    [
        ("src/**", ["src/a.py", "src/b/c/d.py"], ["srcs/a.py", "a.py", "lib/src/a.py", "src"]),
        ("src/*.py", ["src/a.py"], ["src/b/a.py", "src/a.pyc", "src/a/py"]),
        ("**/*.md", ["a.md", "docs/b/c.md"], ["a.mdx", "md", "a.md/b"]),
        ("src/**/test_?.py", ["src/test_a.py", "src/x/test_b.py"], ["src/test_.py", "test_a.py"]),
        ("a+b.(c)", ["a+b.(c)"], ["aab.c", "a+bx(c)"]),
        ("**", ["a", "b/c"], [""]),
        ("**/a/**/b/**", ["a/b/c", "x/a/y/b/c/d"], ["a/b", "b/a/c", "a/c"]),
        ("**/**/a", ["a", "x/a", "x/y/z/a"], ["a/x", "b"]),
    ],
)
def test_a_pattern_covers_files_by_their_whole_path(
    pattern: str, fitting: list[str], others: list[str]
) -> None:
    rule = Rule(tools=("Write",), project="/src/shop", path=pattern)
    assert [path for path in (*fitting, *others) if path_fits(rule, path)] == fitting


def test_a_path_of_very_many_folders_takes_no_time() -> None:
    rule = Rule(tools=("Write",), project="/src/shop", path="**/a/**/b/**/a/**/x")
    began = time.process_time()
    assert not path_fits(rule, f"{'a/b/' * 150}c")
    assert time.process_time() - began < 0.5


def test_a_plain_file_in_the_rules_folder_fits(shop: Path) -> None:
    for name in ("src/app.py", "src/new.py", "src/far/new.py"):
        assert fits(shop / name, shop), name


def test_an_edit_of_a_cell_and_several_edits_fit_as_well(shop: Path) -> None:
    uses: list[tuple[str, Json]] = [
        ("Edit", {"file_path": f"{shop}/src/app.py", "old_string": "x", "new_string": "y"}),
        (
            "MultiEdit",
            {"file_path": f"{shop}/src/app.py", "edits": [{"old_string": "", "new_string": "y"}]},
        ),
        ("NotebookEdit", {"notebook_path": f"{shop}/src/a.ipynb", "new_source": "x"}),
    ]
    for tool, what in uses:
        use = ToolUse(tool, what, Project(key=str(shop), name="shop"), None)
        rule = Rule(tools=(tool,), project=str(shop), path="src/**")
        assert fitting_rule([rule], use, plain_file(use), NOW) == 1, tool
        other = Rule(tools=("Write",), project=str(shop), path="src/**")
        assert fitting_rule([other], use, plain_file(use), NOW) is None, tool


@pytest.mark.parametrize(
    "path",
    [
        "src/../../.bashrc", "src/../src/app.py", "src/./app.py", "src//app.py", "src/app.py/",
        "src", "src/..", "SRC/app.py", "src/.env", "src/.GIT/config", "src/MAKEFILE",
        "src/Package.JSON", "src/run.SH", "src/hooks/x.py", "src/node_modules/a/index.js",
        "src/evil.pth", "src/sitecustomize.py", "src/agents.md", "src/a\u200b.py",
        "src/\u202eyp.a", "src/ａ.py\u00a0", "src/a\n.py", "src/a\x00.py", "lib/app.py",
        "../shop-evil/src/app.py", "~/src/app.py",
        "src/AGENTS.override.md", "src/opencode.json", "src/pom.xml", "src/composer.json",
        "src/karma.conf.js", "src/MODULE.bazel", "src/flake.nix", "src/mise.toml",
    ],
)  # fmt: skip
def test_a_path_that_is_not_plainly_a_text_in_the_folder_fits_no_rule(
    shop: Path, path: str
) -> None:
    assert not fits(f"{shop}/{path}", shop)


@pytest.mark.parametrize("path", ["src/app.py", "./src/app.py", "", "~/shop/src/app.py"])
def test_a_relative_path_fits_no_rule(shop: Path, path: str) -> None:
    assert not fits(path, shop)


def test_no_link_on_the_way_to_a_file_fits_a_rule(shop: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("")
    (shop / "src" / "to-folder").symlink_to(outside)
    (shop / "src" / "to-file.py").symlink_to(outside / "a.txt")
    (shop / "src" / "to-nothing.py").symlink_to(outside / "new.txt")
    (shop / "src" / "to-inside.py").symlink_to(shop / "src" / "app.py")
    (shop / "src" / "loop").symlink_to(shop / "src" / "loop")
    names = ("to-folder/a.txt", "to-file.py", "to-nothing.py", "to-inside.py", "loop", "loop/a.py")
    for name in names:
        assert not fits(shop / "src" / name, shop), name


def test_a_link_that_comes_later_ends_what_a_rule_covers(shop: Path, tmp_path: Path) -> None:
    assert fits(shop / "src" / "app.py", shop)
    (tmp_path / "home").mkdir()
    (shop / "src").rename(shop / "before")
    (shop / "src").symlink_to(tmp_path / "home")
    assert not fits(shop / "src" / "app.py", shop)


def test_what_is_more_than_a_text_fits_no_rule(shop: Path, tmp_path: Path) -> None:
    source = shop / "src"
    (tmp_path / "elsewhere.py").write_text("")
    os.link(tmp_path / "elsewhere.py", source / "hard.py")
    (source / "run.py").write_text("")
    (source / "run.py").chmod(0o755)
    (source / "script").write_text("#!/bin/sh\n")
    (source / "folder.py").mkdir()
    os.mkfifo(source / "pipe.py")
    for name in ("hard.py", "run.py", "script", "folder.py", "pipe.py"):
        assert not fits(source / name, shop), name
    assert not fits(source / "new.py", shop, content="#!/bin/sh\nrm -rf ~\n")


def test_an_input_that_is_not_understood_fits_no_rule(shop: Path) -> None:
    rules = [
        Rule(tools=("Write", "Edit"), project=str(shop), path="**"),
        Rule(tools=("Bash",), project=str(shop), command=("npm", "test")),
    ]
    file, project = f"{shop}/src/app.py", Project(key=str(shop), name="shop")
    uses: list[tuple[str, Json]] = [
        ("Write", {"file_path": file, "content": "x", "mode": "0755"}),
        ("Write", {"file_path": file, "notebook_path": "/etc/x", "content": "x"}),
        ("Write", {"file_path": [file], "content": "x"}),
        ("Write", {"path": file, "content": "x"}),
        ("write", {"file_path": file, "content": "x"}),
        ("Edit", {"file_path": file, "old_string": "x"}),
        ("Bash", {"command": "npm test", "dangerouslyDisableSandbox": True}),
        ("Bash", {"command": ["npm", "test"]}),
        ("bash", {"command": "npm test"}),
        ("mcp__shell__Bash", {"command": "npm test"}),
    ]
    for tool, what in uses:
        use = ToolUse(tool, what, project, str(shop))
        assert fitting_rule(rules, use, plain_file(use), NOW) is None, what


# ── which project, and until when ─────────────────────────────────────────────────────────────────


def bash(project: Project, folder: str | None) -> ToolUse:
    return ToolUse("Bash", {"command": "npm test", "description": "Tests"}, project, folder)


def rule_of(use: ToolUse, *rules: Rule) -> int | None:
    return fitting_rule(rules, use, plain_file(use), NOW)


def test_a_rule_holds_in_its_project_and_in_no_other_of_that_name(
    shop: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "shop"
    (other / "src").mkdir(parents=True)
    (shop / "inner").mkdir()
    rule = Rule(tools=("Bash",), project=str(shop), command=("npm", "test"))
    mine = Project(key=str(shop), name="shop")
    assert rule_of(bash(mine, str(shop)), rule) == 1
    assert rule_of(bash(mine, str(shop / "src")), rule) == 1
    for project, folder in [
        (Project(key=str(other), name="shop"), str(other)),
        (Project(key=str(shop / "inner"), name="shop"), str(shop / "inner")),
        (Project(key=str(tmp_path), name="shop"), str(shop)),
        (Project(key=f"uid:1000:{shop}", name="shop"), str(shop)),
        (Project(key=f"http:laptop:{shop}", name="shop"), None),
        (Project(key=f"link:{shop}", name="shop"), str(shop)),
        (mine, str(other)),
        (mine, None),
        (mine, "."),
    ]:
        assert rule_of(bash(project, folder), rule) is None, (project, folder)


def test_a_folder_that_leads_out_of_the_project_is_none_of_it(shop: Path, tmp_path: Path) -> None:
    (shop / "out").symlink_to(tmp_path)
    rule = Rule(tools=("Bash",), project=str(shop), command=("npm", "test"))
    assert rule_of(bash(Project(key=str(shop), name="shop"), str(shop / "out")), rule) is None


def test_a_rule_ends_with_its_last_moment(shop: Path) -> None:
    use = bash(Project(key=str(shop), name="shop"), str(shop))
    words = ("npm", "test")
    over = Rule(tools=("Bash",), project=str(shop), command=words, expires=NOW)
    going = Rule(tools=("Bash",), project=str(shop), command=words, expires=NOW + 1)
    assert rule_of(use, over) is None
    assert rule_of(use, over, going) == 2


def test_the_project_may_be_named_by_a_link(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(shop)
    rule = Rule(tools=("Write",), project=str(tmp_path / "link"), path="src/**")
    for named in (shop, tmp_path / "link"):
        use = write(named / "src" / "app.py", named)
        assert rule_of(use, rule) == 1


# ── what can be allowed with it ───────────────────────────────────────────────────────────────────


def test_a_files_own_folder_comes_first_and_the_projects_folder_is_never_called_so(
    shop: Path,
) -> None:
    project, root = Project(key=str(shop), name="shop"), os.path.realpath(shop)
    assert folders_of(f"{root}/src/a/b.py", project) == (f"{root}/src/a", root)
    assert folders_of(f"{root}/b.py", project) == (root,)
    assert folders_of(f"{root}-evil/b.py", project) == ()
    deep = "/".join(["folder"] * 15)
    assert folders_of(f"{root}/{deep}/b.py", project) == (root,), "nobody could read it on a card"
    forged = "src until 10:00. Nothing else may be edited"
    assert folders_of(f"{root}/{forged}/b.py", project) == (root,)
    for plain in ("src", "Übung/a-b_c", "@scope/pkg+1.2"):
        assert folders_of(f"{root}/{plain}/b.py", project) == (f"{root}/{plain}", root)


_names = st.sampled_from(
    ["src", "..", ".", "", "a.py", ".git", "out", "in", "hard.py", "Makefile", "~", "new", "shop"]
)


@settings(max_examples=300)
@given(parts=st.lists(_names, max_size=6), absolute=st.booleans())
def test_nothing_outside_the_projects_real_folder_is_ever_covered(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], absolute: bool
) -> None:
    top = tmp_path_factory.getbasetemp() / "property"
    shop = top / "shop"
    if not shop.exists():
        (shop / "src" / "new").mkdir(parents=True)
        (shop / "src" / "a.py").write_text("")
        (top / "a.py").write_text("")
        (shop / "out").symlink_to(top)
        (shop / "src" / "out").symlink_to("/")
        (shop / "in").symlink_to(shop / "src")
        os.link(top / "a.py", shop / "src" / "hard.py")
    path = "/".join([str(shop) if absolute else "", *parts])
    file = plain_file(write(path, shop))
    if file is not None:
        real = os.path.realpath(path)
        assert file == real == path
        assert Path(real).is_relative_to(os.path.realpath(shop))
        assert not any(part.startswith(".") for part in Path(real).relative_to(shop).parts)
