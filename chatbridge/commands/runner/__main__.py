"""The runner's process.

    python -m chatbridge.commands.runner STATE [GRACE LINGER] [descriptors=N]

GRACE: seconds between SIGTERM and SIGKILL. LINGER: seconds for which it waits for a hub when
nothing runs. N: the soft limit on descriptors that the hub was started with.
"""

from __future__ import annotations

import json
import os
import sys

from chatbridge import lock_file, runtime_paths
from chatbridge.commands.runner import PROTOCOL, records, start
from chatbridge.core.errors import ChatbridgeError
from chatbridge.system import children, descriptors

GRACE, LINGER = 5.0, 10.0


def main(words: list[str]) -> int:
    if words[-1].startswith(start.DESCRIPTORS):
        descriptors.put_back(int(words.pop().removeprefix(start.DESCRIPTORS)))
    # Only now: `child` notes the limit that it finds, for the commands.
    from chatbridge.commands.runner.service import Service

    state = words[0]
    grace, linger = (float(words[1]), float(words[2])) if len(words) > 2 else (GRACE, LINGER)
    os.umask(0o022)  # the commands': files of the runner's own are made with their modes
    try:
        runtime_paths.make_private(state)
        lock = lock_file.try_lock(start.lock_path(state))
        if lock is None:
            return 0  # another was quicker
        path = start.socket_path(state)
        listener = runtime_paths.bind_socket(path)
        log = os.open(runtime_paths.log_path(state), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except (ChatbridgeError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    pid = os.fork()
    if pid:
        info = {"pid": pid, "socket": path, "protocol": PROTOCOL}
        os.ftruncate(lock, 0)
        os.pwrite(lock, json.dumps(info).encode() + b"\n", 0)
        os._exit(0)  # everything is the child's now
    os.dup2(log, 2)  # whoever started it waits for the end of its words
    os.close(log)
    children.adopt_orphans()
    service = Service(listener=listener, place=start.place(state), grace=grace, linger=linger)
    try:
        service.run()
    finally:
        # While the lock is held: the next one makes its own.
        records.remove(path)
        listener.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
