#!/usr/bin/env python3
"""killer.py AUDIT-LOG USER SECONDS UNTIL -- CMD...

Starts CMD again and again and sends SIGKILL after each write request of USER that the audit log shows (looked at every 2 ms;
Leases aside), until a life of it has made no write for 3 s and the shell command UNTIL succeeds. Prints one line per life and
`N kills` last. Exit status 1 when that did not happen within SECONDS.
"""
import json
import subprocess
import sys
import time


def main():
    audit, user, seconds, until = sys.argv[1:5]
    command = sys.argv[6:]
    log = open(audit, encoding="utf-8")
    end, kills, more = time.monotonic() + float(seconds), 0, 0

    def writes():
        """Lines come whole, but maybe in two reads."""
        found = []
        while True:
            at = log.tell()
            line = log.readline()
            if not line.endswith("\n"):
                log.seek(at)
                return found
            e = json.loads(line)
            ref = e.get("objectRef", {})
            if e["user"]["username"] == user and ref.get("resource") != "leases":
                found.append(f"{e['verb']} {ref.get('resource')}/{ref.get('subresource', '')} {ref.get('name', '')}")

    log.seek(0, 2)
    while time.monotonic() < end:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=sys.stderr)
        quiet, seen = time.monotonic(), []
        try:
            while not seen and time.monotonic() < end and process.poll() is None:
                seen = writes()
                if not seen and time.monotonic() - quiet > 3:
                    if subprocess.run(until, shell=True, capture_output=True, check=False).returncode == 0:
                        print(f"{kills} kills, {more} with another write under way")
                        return 0
                    quiet = time.monotonic()
                time.sleep(0.002)
        finally:
            process.kill()
            process.wait()
        kills += 1
        time.sleep(0.05)  # what was under way reaches the log
        late = writes()
        more += bool(late or len(seen) > 1)
        print("killed after", "; ".join(seen), "and" if late else "", "; ".join(late), flush=True)
    print(f"not reached after {kills} kills")
    return 1


if __name__ == "__main__":
    sys.exit(main())
