"""The fork server: imports torch and the model libraries once, then forks a fresh worker whenever it is asked to.

It runs no tensor operation and starts no thread, so that a fork is safe and every worker begins with the same memory: what a
new interpreter would hold after seconds of imports. Where an imported library has started threads after all, and for a GPU, whose
driver does not survive a fork, a worker is a new interpreter instead.

A request is a line of JSON with the worker's end of a socket attached; the answer is `{"pid": …}` and, when that worker has ended,
`{"ended": pid, "code": …}` with a negative signal number as the code. The ended worker is reaped when `{"reap": pid}` comes, so that its
process id cannot meanwhile belong to another process.
"""

import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any, NoReturn


def main() -> None:
    """Serve until the socket named by the first argument is closed."""
    die_with(os.getppid())
    control = socket.socket(fileno=int(sys.argv[1]))
    hello = json.loads(sys.argv[2])
    forks = hello["fork"] and preload(hello)
    answer(control, {"ready": True, "forks": forks})
    watched: dict[int, int] = {}  # descriptor of a worker → its process id
    while True:
        for ready in select.select([control, *watched], [], [])[0]:
            if ready is not control:
                report(control, watched.pop(ready))
                os.close(ready)
                continue
            line, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 1)
            if not line:
                return
            request = json.loads(line)
            if "reap" in request:
                os.waitpid(request["reap"], 0)
                continue
            pid = start(control, request, descriptors[0], forks)
            watched[os.pidfd_open(pid)] = pid
            answer(control, {"pid": pid})


def preload(hello: dict[str, Any]) -> bool:
    """Import what workers need; says whether a fork is safe, that is whether no library has started a thread."""
    import_quietly(["torch", "numpy", "psutil", "nnirp.profiling.worker", *hello["preload"]])
    import_quietly([hello["build"].partition(":")[0]])
    with contextlib.suppress(Exception):
        from nnirp.runtimes import load

        load(hello["runtime"]).preload()
    gc.collect()
    gc.freeze()  # the collector of a worker need not visit what the libraries keep
    return sum(1 for _ in Path("/proc/self/task").iterdir()) == 1


def start(control: socket.socket, request: dict[str, Any], descriptor: int, forks: bool) -> int:
    """Start one worker; returns its process id."""
    server = os.getpid()
    pid = os.fork()
    if not pid:
        _become_worker(control, request, descriptor, forks, server)
    os.close(descriptor)
    return pid


def report(control: socket.socket, pid: int) -> None:
    """Say how a worker ended, and leave it to be reaped later."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    answer(control, {"ended": pid, "code": code})


def _become_worker(
    control: socket.socket, request: dict[str, Any], descriptor: int, forks: bool, server: int
) -> NoReturn:
    """In the child: leave the server's socket, write into the worker's own log, and run the worker."""
    code = 1
    try:
        die_with(server)
        control.close()
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.update(request["environment"])
        if not forks:
            os.set_inheritable(descriptor, True)
            os.execv(sys.executable, [sys.executable, "-m", "nnirp.profiling.worker", str(descriptor)])
        from nnirp.profiling import worker

        worker.main(descriptor, forked=True)
        code = 0
    except BaseException:  # nothing of a worker may go on as a second server
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def import_quietly(names: list[str]) -> None:
    """Import what is installed; a worker that needs what is not says so itself."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def die_with(parent: int) -> None:
    """Ask the kernel to end this process when its parent ends, however that happens (prctl(2), PR_SET_PDEATHSIG)."""
    try:
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:  # it ended before the kernel was asked
        os._exit(1)


def answer(channel: socket.socket, content: dict[str, Any]) -> None:
    """Send one line of JSON."""
    channel.sendall(json.dumps(content).encode() + b"\n")


if __name__ == "__main__":
    main()
