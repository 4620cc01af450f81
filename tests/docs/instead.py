"""What of the documents cannot be run as it stands, why, and what is checked instead.

Each row: a pattern that the whole command matches, the reason, and either a command to run in its
place ("run"), or "options": the verb exists and its --help lists every option of the command, or a
Python check of its own.
"""

import json
import re
import subprocess
import sys

MINUTES = "takes minutes"
HARDWARE = "needs what this machine may not have"


def options_exist(command, sandbox):
    """The verb and all options of a call of spillway are those of its help."""
    words = [w for w in command.split() if w]
    at = next(i for i, w in enumerate(words) if w.endswith("spillway")) + 1
    verb = []
    while at < len(words) and re.fullmatch(r"[a-z]+", words[at]) and len(verb) < 2:
        help_text = subprocess.run([sandbox.spillway, *verb, words[at], "--help"],
                                   capture_output=True, text=True)
        if help_text.returncode != 0 or not help_text.stdout.count(f"spillway {' '.join(verb + [words[at]])}"):
            break
        verb.append(words[at])
        at += 1
    assert verb, f"no verb in: {command}"
    text = subprocess.run([sandbox.spillway, *verb, "--help"], capture_output=True, text=True,
                          check=True).stdout
    for word in words[at:]:
        option = word.split("=")[0]
        if option.startswith("--"):
            assert re.search(rf"(^|[ ,]){re.escape(option)}( |$)", text, re.M), \
                f"spillway {' '.join(verb)} has no {option}"


def is_shell_script(path):
    return lambda command, sandbox: subprocess.run(
        ["bash", "-n", str(sandbox.source / path)], check=True)


def preset_exists(command, sandbox):
    presets = json.loads((sandbox.source / "CMakePresets.json").read_text())
    name = re.search(r"--preset (\w+)", command).group(1)
    for kind in ("configurePresets", "buildPresets"):
        assert any(p["name"] == name for p in presets[kind]), f"no preset {name} among {kind}"


def source_is_there(command, sandbox):
    """The file that a compiler is given."""
    assert (sandbox.source / command.split()[-1]).is_file(), "no such source"


def tag_is_used(command, sandbox):
    """Tests that a command selects are there."""
    tag = re.search(r'"(\[\w+\])"', command)
    text = "".join(p.read_text() for p in sorted((sandbox.source / "tests").rglob("*.cpp")))
    assert tag is None or f'"{tag.group(1)}' in text or tag.group(1) in text, f"no test has {tag}"


def script_is_there(command, sandbox):
    """The script, and the options that its own --help names."""
    script = sandbox.source / re.search(r"(tests/\S+\.py)", command).group(1)
    compile(script.read_text(), script.name, "exec")
    options = re.findall(r"--[\w-]+", command)
    if options:
        shown = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, check=True).stdout
        for option in options:
            assert re.search(rf"{option}\b", shown), f"{script.name} has no {option}"


# (pattern, reason, what instead)
INSTEAD = [
    (r"\./quickstart.*", "builds the project", is_shell_script("quickstart")),
    (r"cmake --preset.*", "builds the project", preset_exists),
    (r"build/(bench/)?spillway_(tests|bench).*", "is the rest of the tests, or a benchmark", tag_is_used),
    (r"cmake --install.*", "needs the build folder; tests/static installs", None),
    (r"docker (build|run) .*", "needs a container runtime; tests/static carries the steps out", None),
    (r"scp .*", "needs the other machine", None),
    (r"nvcc .* (\S+\.cu)", HARDWARE + ": nvcc", source_is_there),
    (r"python3 tests/(oracle|answers)/.*", "is a test of its own in ctest", script_is_there),
    (r"tests/browser/.*", "is a test of its own in ctest", script_is_there),
    (r".*--runner slurm .*", "needs Slurm; tests/slurm runs it", options_exist),
    (r".*man -l -", "needs man-db", "{before}"),
    (r".*&& sh shards.sh", "needs GNU parallel", "{before}"),
    (r"spillway demo --out .*", "is run with its own folder", options_exist),
    (r"spillway plan scenarios/library/quickstart\.json --out out/quickstart",
     "README's own call of it has the rest", r"\g<0> --no-sensitivity"),
    (r"sqlite3 .*", "needs the sqlite3 program; tests/cli reads the tables", None),
    (r".*calibrate --budget 10min.*--resume", MINUTES, options_exist),
    (r"ssh \S+ (.*--dry-run.*)", "needs the other machine", options_exist),
    (r".*calibrate --budget 10min.*", MINUTES, options_exist),
    (r".*calibrate --verify.*", MINUTES + ", and its answer depends on the machine", options_exist),
    (r".*calibrate --redis.*", HARDWARE + ": a Redis server", options_exist),
    (r".*--set hardware=redis.json.*", HARDWARE + ": a Redis server", options_exist),
    (r".*calibrate --replay.*", HARDWARE + ": a GPU", options_exist),
    (r".*validate scenarios/validation.*--data.*", "the measured runs are others' and not copied here",
     options_exist),
    (r"(.*trace generate --requests )10000000( .*)", "ten million requests", r"\g<1>20000\g<2>"),
    (r".*sweep status camp/? --watch", "waits for runs that only another shell makes", options_exist),
    (r".*sweep worker camp/? --shard 17/200", "is one of 200 tasks", None),
    (r"(.*trace sample \S+ )--share [\d.]+( .*)", "a share of the small stand-in is declined",
     r"\g<1>--share 1\g<2>"),
    (r"spillway completion .*> ~/.*", "writes to the home folder", "{completion}"),
    (r"spillway man --out ~/.*", "writes to the home folder", "spillway man --out man1"),
]
