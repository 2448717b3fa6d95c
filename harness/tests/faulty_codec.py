"""A tiny codec behind the stdio codec protocol that misbehaves in the way its first argument names.

It "decodes" any bytes to `{"Echo": {"hex": ...}}`; bytes `ff` make it misbehave, once a process.
"""

import json
import os
import signal
import subprocess
import sys
import time


def say(**answer):
    print(json.dumps(answer), flush=True)


def echo(request, **more):
    data = request["bytes"]
    say(seq=request["seq"], ok=True, means={"Echo": {"hex": data}}, size=len(data) // 2, encoded=data, **more)


def misbehave(how, request):
    match how:
        case "garbage":
            print("I had a thought", flush=True)
        case "garbage-before":
            print("debug: decoding", flush=True)
            echo(request)
        case "list":
            print("[1, 2]", flush=True)
        case "no-size":
            say(seq=request["seq"], ok=True, means={})
        case "wrong-kind":
            say(seq=request["seq"], ok=True, bytes="00")
        case "wrong-seq":
            say(seq=request["seq"] + 1000, ok=True, means={}, size=0)
        case "endless":
            while True:
                sys.stdout.write("x" * 65536)
        case "dies":
            print("panicked at the sight of it", file=sys.stderr, flush=True)
            os._exit(7)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hangs":
            time.sleep(3600)
        case "hangs-with-child":
            subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)", *sys.argv[2:]])
            time.sleep(3600)
        case "crashes":
            say(seq=request["seq"], crash="thread panicked at src/lib.rs:1:1")
        case "deep":
            print("[" * 100_000, flush=True)


def main(how):
    held = []
    if how == "starts-late":
        time.sleep(0.5)
    for line in sys.stdin:
        request = json.loads(line)
        match request["cmd"]:
            case "start":
                if how == "no-start":
                    return
                if how == "banner":
                    print("Welcome!", flush=True)
                say(
                    ok=True,
                    identity={"name": "mini", "version": "1", "language": "python"},
                    layers=["transport"],
                    capabilities=["decode"],
                )
            case "capability":
                say(ok=True) if how == "liar" else say(ok=False, unimplemented=True)
            case "stop":
                say(ok=True)
                return
            case "decode" if how == "swaps":
                held.append(request)
                if len(held) == 2:
                    echo(held.pop())
                    echo(held.pop())
            case "decode" if request["bytes"] == "ff":
                misbehave(how, request)
            case "decode" if how == "extra-field":
                echo(request, colour="blue")
            case "decode":
                echo(request)
            case _:
                say(seq=request["seq"], unimplemented=True, why="decode only")


main(sys.argv[1])
