# The program of python.wasm: docs/howto/run-real-guests.md says how it becomes a component.
import hashlib
import json
import os
import re
import sys

from wit_world import exports


class Run(exports.Run):
    def run(self):
        words = re.findall(r"\w+", sys.stdin.read())
        print(json.dumps({"words": len(words), "sha": hashlib.sha256(b"abc").hexdigest()[:16]}))
        print("sum", sum(i * i % 7 for i in range(100000)))
        with open("/data/in.txt") as file:
            print("file", file.read().strip())
        with open("/data/out.txt", "w") as file:
            file.write("from Python\n")
        print(sorted(os.listdir("/data")))
        try:
            {}["x"]
        except KeyError as error:
            print("caught", error)
        print("to stderr", file=sys.stderr)
