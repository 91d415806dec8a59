"""Keeps a server alive as long as somebody holds the other end of our standard input, and no longer.

Run as a program of its own, in a session of its own: `guardian.py FOLDER SERVER ARGUMENT…`.
The holder's end of the pipe closes when the holder ends, however it ends, SIGKILL included; a holder that is
done writes a byte, since a process forked off it may still hold the pipe. Then the server is killed and its
folder removed. Where the server ends first, so does this, and leaves the log for who waits for the server.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
from typing import NoReturn


def main(folder: str, command: list[str]) -> None:
    with open(os.path.join(folder, "log"), "wb") as log:
        try:
            server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        except OSError as failed:
            log.write(str(failed).encode())
            return

    def end(*_: object) -> NoReturn:
        shutil.rmtree(folder, ignore_errors=True)
        server.kill()
        server.wait()
        os._exit(0)

    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        signal.signal(number, end)
    threading.Thread(target=lambda: (server.wait(), os._exit(server.returncode & 255)), daemon=True).start()
    sys.stdin.buffer.read(1)
    end()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main(sys.argv[1], sys.argv[2:])
