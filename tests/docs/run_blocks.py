#!/usr/bin/env python3
"""Runs every code block of every document, and the examples of every --help, as they stand.

A block of language
  sh      runs line by line in a copy of the project's inputs; each line ends with 0, or with N where
          its comment says "exit N". Lines that cannot run are in instead.py, with the reason.
  json    is a scenario that spillway accepts, and the file of that name for the commands after it.
  jsonc   is a part of a scenario: put into one, it is accepted.
  jsonl   is a trace that spillway reads.
  text    is output: FIGURES below names the command whose output has its words.
Any other block, and an indented one, fails: nobody would notice when it becomes untrue.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import blocks
import inputs
import instead

# The file that a json block is, by document and number.
NAMES = {("README.md", 1): "mine.json", ("scenarios/sweep/README.md", 1): "exp.json"}

# What a text block is held to: words that the command's output has too, or all of its lines, up to
# an ellipsis and without the last, which names the file.
FIGURES = {
    ("README.md", 1): ("spillway plan scenarios/library/quickstart.json --out out/quickstart --quiet",
                       "lines"),
    ("README.md", 2): (None, []),  # which folder includes which; tests/tidy checks it
    ("scenarios/machine/README.md", 1):
        ("spillway calibrate --budget 2s --host-only --only dram --memory 64MiB --out again.json",
         ["Host memory", "operation", "copy", "Next: spillway run SCENARIO --set "]),
}

ONE_COMMAND_S = 240


class Sandbox:
    def __init__(self, spillway, source, root):
        self.spillway, self.source, self.root = str(spillway), source, root
        (root / "build").mkdir()
        (root / "build/spillway").symlink_to(spillway)
        self.environment = dict(os.environ, PATH=f"{root}/build:{os.environ['PATH']}",
                                HOME=str(root), LC_ALL="C.UTF-8")
        self.environment.pop("SPILLWAY_ASCII", None)
        self.environment.pop("XDG_DATA_HOME", None)  # the user's own list of models

    def run(self, command, code=0):
        result = subprocess.run(["bash", "-c", command], cwd=self.root, env=self.environment,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=ONE_COMMAND_S)
        if result.returncode != code:
            raise AssertionError(f"exit {result.returncode} instead of {code}\n{result.stderr[-1500:]}")
        return result.stdout


class Runner:
    def __init__(self, sandbox):
        self.sandbox, self.done, self.failures, self.slow = sandbox, set(), [], []
        self.used, self.counts = set(), {}

    def check(self, where, what, action):
        self.counts[what.split()[0]] = self.counts.get(what.split()[0], 0) + 1
        start = time.monotonic()
        try:
            action()
        except (AssertionError, subprocess.SubprocessError, OSError, ValueError) as error:
            self.failures.append(f"{where}: {what}\n  {error}")
        self.slow.append((time.monotonic() - start, where, what))

    def command(self, command, comment):
        for i, (pattern, _, what) in enumerate(instead.INSTEAD):
            if not re.fullmatch(pattern, command):
                continue
            self.used.add(i)
            if what is None:
                return
            if callable(what):
                return what(command, self.sandbox)
            if what == "{before}":  # of a pipe or list, the part that is ours
                command = re.split(r" \| | && ", command)[0]
            elif what == "{completion}":
                command = re.split(r" > ", command)[0]
            else:
                command = re.sub(pattern, what, command)
            break
        if command in self.done:
            return  # in another document, or in a --help
        self.done.add(command)
        self.sandbox.run(command, blocks.expected_code(comment))

    def block(self, block, number):
        if block.language == "sh":
            for command, comment in blocks.commands_of(block.lines):
                self.check(block.where, f"run {command}", lambda: self.command(command, comment))
            return
        text = "\n".join(block.lines) + "\n"
        checks = {"json": self.scenario, "jsonc": self.part, "jsonl": self.trace,
                  "text": self.figures}
        if block.language not in checks:
            self.failures.append(f"{block.where}: a block of language \"{block.language}\"; known: "
                                 f"sh, {', '.join(checks)}")
            return
        self.check(block.where, f"{block.language} block",
                   lambda: checks[block.language](text, (block.path, number)))

    def scenario(self, text, which):
        assert which in NAMES, "no name for this file in NAMES"
        (self.sandbox.root / NAMES[which]).write_text(text)
        self.sandbox.run(f"spillway run {NAMES[which]} --set workload.limit=5")

    def part(self, text, which):
        text = re.sub(r"//.*", "", text).strip().rstrip(",")
        whole = json.loads((self.sandbox.root / "mine.json").read_text())
        whole.update(json.loads("{" + text + "}"))
        (self.sandbox.root / "part.json").write_text(json.dumps(whole))
        self.sandbox.run("spillway run part.json --set workload.limit=5")

    def trace(self, text, which):
        (self.sandbox.root / "block.jsonl").write_text(text)
        self.sandbox.run("spillway trace check block.jsonl")

    def figures(self, text, which):
        assert which in FIGURES, "no command in FIGURES whose output this is"
        command, words = FIGURES[which]
        shown = self.sandbox.run(command) if command else ""
        if words == "lines":
            words = [line.removesuffix(" ...") for line in text.split("\n")[:-2] if line != "..."]
        for word in words:
            assert word in text, f"the block has no \"{word}\""
            assert word in shown, f"the output of {command} has no \"{word}\""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--spillway", required=True, type=pathlib.Path)
    parser.add_argument("--source", required=True, type=pathlib.Path)
    parser.add_argument("--only", default="", help="of documents whose name has this")
    options = parser.parse_args()
    source = options.source.resolve()
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox(options.spillway.resolve(), source, pathlib.Path(folder))
        inputs.make(sandbox)
        sandbox.run("spillway calibrate --budget 3s --host-only --only dram --memory 64MiB --out "
                    "machine.json && cp machine.json gpu-box.json")
        runner = Runner(sandbox)
        all_blocks = []
        for path in blocks.documents(source):
            all_blocks += blocks.blocks_of(path, str(path.relative_to(source)))
        # The examples name files that these make.
        all_blocks += blocks.help_blocks(sandbox.spillway)
        counted, numbered = {}, []
        for block in all_blocks:
            key = (block.path, block.language)
            counted[key] = counted.get(key, 0) + 1
            numbered.append((block, counted[key]))
        # Files before the commands that name them, output after those that make it.
        order = {"json": 0, "sh": 1}
        for block, number in sorted(numbered, key=lambda b: order.get(b[0].language, 2)):
            if options.only in block.path:
                runner.block(block, number)
        if not options.only:
            for i, row in enumerate(instead.INSTEAD):
                if i not in runner.used:
                    runner.failures.append(f"instead.py: no command is like {row[0]}")
    for seconds, where, what in sorted(runner.slow, reverse=True)[:5]:
        print(f"{seconds:6.1f} s  {where}: {what[:100]}")
    print(", ".join(f"{count} x {name}" for name, count in sorted(runner.counts.items())))
    print("\n".join(runner.failures) or "all as documented")
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())
