"""Python that starts in milliseconds: a server has imported Gymnasium and forks for each process that is asked for.

`serve SOCKET SCRIPT` is the server, and writes SCRIPT, which can stand in the place of `python`: `SCRIPT -u - ARGUMENTS`, with the program on
standard input, runs it in a fork that has the descriptors, the directory and the process group of the SCRIPT's process, which ends as it ends.
"""

import array
import ast
import difflib
import fcntl
import gc
import importlib
import inspect
import json
import mmap
import os
import select
import signal
import socket
import sys
import traceback

LAUNCHER = """#!{python} -IS
import _signal, _socket, os, sys
fds = [0, 2, *map(int, sys.argv[3:])]
line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
line.connect({socket!r})
ints = b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds)
line.sendmsg([f"{{os.getpid()}} {{os.getcwd()}}".encode()], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, ints)])
for fd in fds:
    os.close(fd)
status = line.recv(100)
if status.startswith(b"signal"):
    number = int(status[6:])
    if number != _signal.SIGKILL:
        _signal.signal(number, _signal.SIG_DFL)
    os.kill(os.getpid(), number)
os._exit(int(status[4:] or 99))
"""


def run(code, pid, directory, fds, others):
    """The forked process; it does not return."""
    try:
        os.setpgid(0, pid)
        os.chdir(directory)
        for other in others:
            os.close(other)
        script, errors, *rest = fds
        os.dup2(script, 0)
        os.dup2(errors, 2)
        os.close(script)
        os.close(errors)
        sys.argv = ["-", *map(str, rest)]
        sys.path.insert(0, "")
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(write_through=True)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        exec(code, {"__name__": "__main__", "__builtins__": __builtins__})
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def serve(path, script):
    import gymnasium
    import gymnasium.vector
    import numpy
    import fuzz_foreign

    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen(100)
    with open(script + ".new", "w") as file:
        file.write(LAUNCHER.format(python=sys.executable, socket=path))
    os.chmod(script + ".new", 0o755)
    os.rename(script + ".new", script)

    wake, sleeper = os.pipe()
    for end in (wake, sleeper):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(sleeper)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    lines, codes = {}, {}
    gc.collect()
    gc.freeze()
    poll = select.poll()
    for end in (listener.fileno(), wake, 0):
        poll.register(end, select.POLLIN)
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == 0:
                os._exit(0)
            elif descriptor == wake:
                os.read(wake, 1000)
            elif descriptor == listener.fileno():
                line, _ = listener.accept()
                message, ancillary, _, _ = line.recvmsg(5000, 100)
                fds = array.array("i")
                for _, _, data in ancillary:
                    fds.frombytes(data)
                if len(fds) != 5:
                    line.close()
                    continue
                number, directory = message.split(b" ", 1)
                source = b""
                while part := os.read(fds[0], 1 << 16):
                    source += part
                code = codes.get(source) or codes.setdefault(source, compile(source, "<stdin>", "exec"))
                pid = os.fork()
                if pid == 0:
                    others = [listener.fileno(), wake, sleeper, line.fileno(), *(other.fileno() for other in lines.values())]
                    run(code, int(number), directory, fds, others)
                for fd in fds:
                    os.close(fd)
                lines[pid] = line
                poll.register(line.fileno(), select.POLLIN)
            else:
                # Whoever asked for it is gone.
                for pid, line in lines.items():
                    if line.fileno() == descriptor:
                        os.kill(pid, signal.SIGKILL)
                        poll.unregister(descriptor)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            line = lines.pop(pid)
            try:
                poll.unregister(line.fileno())
            except KeyError:
                pass
            how = f"signal{os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"code{os.WEXITSTATUS(status)}"
            try:
                line.send(how.encode())
            except OSError:
                pass
            line.close()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])
