"""How long a link looks for a hub before it tells its client that there is none."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Sequence

import pytest

from chatbridge import lock_file, runtime_paths
from chatbridge.hub.process.start import Report
from chatbridge.link import hub_start
from chatbridge.link.search import FIRST_LIMIT, LOST_LIMIT_SECONDS, NoHub, Search


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="cb-") as directory:
        monkeypatch.setenv("CHATBRIDGE_STATE_DIR", directory)
        monkeypatch.setenv("CHATBRIDGE_RUNTIME_DIR", directory)
        yield os.path.realpath(directory)


def begins(state: str, pid: int, *, error: str | None = None) -> None:
    """A hub of this pid has taken the lock, and does not answer yet, or never will."""
    lock = lock_file.acquire(state)
    info = lock_file.LockInfo(pid=pid, version="1", socket=None, started_by="link", error=error)
    lock_file.write(lock, info)
    os.close(lock)


def looks(state: str, *, per_hub: bool) -> Search:
    begins(state, 1)  # long ago
    search = Search(state, 0.0, start_after=None, limit=FIRST_LIMIT, per_hub=per_hub)
    assert search.step(0.0) is None
    begins(state, 2)
    assert search.step(10.0) is None
    return search


def starting(state: str, now: float, *, fails: Sequence[str] = ()) -> Search:
    """A link that wants to start a hub, while another one does."""
    turn = lock_file.try_start_turn(state)
    assert turn is not None
    search = Search(state, now, start_after=0.0, limit=FIRST_LIMIT)
    assert search.step(now) is None
    assert search.report is None, "it started a second one"
    os.close(turn)
    for pid, error in enumerate(fails, start=100):
        begins(state, pid, error=error)
    return search


def test_of_many_links_one_starts_a_hub_and_all_hear_why_it_failed(state: str) -> None:
    search = starting(state, 0.0, fails=["the token is wrong"])
    with pytest.raises(NoHub, match="the token is wrong"):
        search.step(1.0)


def test_what_an_earlier_hub_failed_of_is_no_news_however_the_clock_was_set(state: str) -> None:
    begins(state, 1, error="long mended")
    os.utime(runtime_paths.lock_path(state), (4e9, 4e9))  # it was set back since
    starting(state, 0.0)


def test_a_link_that_stands_still_as_it_starts_a_hub_is_not_waited_for_without_end(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = os.pipe()
    monkeypatch.setattr(hub_start, "start_hub", lambda _: pipe[0])
    turn = lock_file.try_start_turn(state)
    assert turn is not None
    search = Search(state, 0.0, start_after=0.0, limit=FIRST_LIMIT)
    reports = []
    for now in (0.0, 4.0, 6.0):
        search.step(now)
        reports.append(search.report)
    assert reports == [None, None, pipe[0]]
    search.close()
    for descriptor in (turn, pipe[1]):
        os.close(descriptor)


def test_a_call_gives_every_hub_that_begins_its_own_time(state: str) -> None:
    search = looks(state, per_hub=True)
    assert search.step(FIRST_LIMIT + 1) is None
    with pytest.raises(NoHub, match="within 15 s"):
        search.step(10.0 + FIRST_LIMIT)


def test_a_client_that_starts_is_told_in_time_whatever_hubs_do(state: str) -> None:
    search = looks(state, per_hub=False)
    with pytest.raises(NoHub, match="within 15 s"):
        search.step(FIRST_LIMIT)


def test_hubs_that_begin_and_never_answer_are_not_waited_for_without_end(state: str) -> None:
    search = looks(state, per_hub=True)
    number = 2
    while 10.0 * (number + 1) < LOST_LIMIT_SECONDS:
        number += 1
        begins(state, number)
        assert search.step(10.0 * number) is None
    with pytest.raises(NoHub):
        search.step(LOST_LIMIT_SECONDS)


@pytest.mark.parametrize(("started_by", "found"), [("link", "service"), ("person", "hub")])
def test_the_services_socket_comes_before_a_hub_that_a_link_has_started(
    state: str, started_by: str, found: str
) -> None:
    paths = {
        "hub": runtime_paths.socket_path(state),
        "service": runtime_paths.service_socket_path(state),
    }
    listeners = {path: runtime_paths.bind_socket(path) for path in paths.values()}
    lock = lock_file.acquire(state)
    info = lock_file.LockInfo(
        pid=os.getpid(), version="1", socket=paths["hub"], started_by=started_by
    )
    lock_file.write(lock, info)
    connection = Search(state, 0.0, start_after=None, limit=FIRST_LIMIT).step(0.0)
    assert connection is not None
    assert connection.getpeername() == paths[found]
    connection.close()
    listeners[paths["service"]].close()  # nobody listens any more
    connection = Search(state, 0.0, start_after=None, limit=FIRST_LIMIT).step(0.0)
    assert connection is not None
    assert connection.getpeername() == paths["hub"]
    connection.close()
    listeners[paths["hub"]].close()
    os.close(lock)


def test_a_hub_that_cannot_be_started_leaves_no_descriptor_open(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", refuse)
    search = Search(state, 0.0, start_after=0.0, limit=FIRST_LIMIT)
    before = set(os.listdir("/dev/fd"))
    with pytest.raises(NoHub, match="cannot be started"):
        search.step(0.0)
    search.close()
    assert set(os.listdir("/dev/fd")) == before


def test_what_a_hub_starts_does_not_inherit_its_report() -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        report = Report(writing)
        assert not os.get_inheritable(writing)
        report.say(ready=True)
        assert os.read(reading, 100) == b'{"ready": true}\n'
    finally:
        os.close(reading)
