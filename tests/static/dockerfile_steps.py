#!/usr/bin/env python3
"""Carries out the steps of the Dockerfile where no container runtime is, then uses the image.

    tests/static/dockerfile_steps.py [--keep FOLDER]

Each stage is a folder that becomes the root of its RUN steps: debootstrap makes that of a Debian
stage, `scratch` is empty. The last stage, as its user and entry point, then plans a scenario from a
folder of somebody's. Needs root and debootstrap; exit 77 says that it was skipped. It builds the
program, which takes as long as ./quickstart --static does. --keep leaves the roots there.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent


def fail(message):
    sys.exit(f"FAILED: {message}")


def instructions(text):
    """(word, rest) of each instruction; a backslash at the end of a line joins it with the next."""
    lines = [line for line in text.replace("\\\n", " ").splitlines()
             if line.strip() and not line.lstrip().startswith("#")]
    return [(line.split(None, 1)[0].upper(), line.split(None, 1)[1].strip()) for line in lines]


class Stage:
    def __init__(self, root):
        self.root, self.folder, self.user, self.entry = pathlib.Path(root), "/", "0:0", []

    def inside(self, path):
        return self.root / os.path.normpath(os.path.join(self.folder, path)).lstrip("/")

    def run(self, command, **options):
        """With /proc, the user and the folder, as a container runtime starts it."""
        user, group = self.user.split(":")
        (self.root / "proc").mkdir(exist_ok=True)
        return subprocess.run(["unshare", "--mount", "--mount-proc", f"--root={self.root}",
                               f"--wd={self.folder}", f"--setuid={user}", f"--setgid={group}",
                               *command],
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
                              stdin=subprocess.DEVNULL, **options)


def debian(release, folder):
    """A root as the image of that release: packages of priority required, and apt."""
    done = subprocess.run(["debootstrap", "--variant=minbase", release, folder], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        fail(f"debootstrap {release}: {done.stdout[-500:]}")
    for name in ("resolv.conf", "hosts"):
        shutil.copy(pathlib.Path("/etc", name), pathlib.Path(folder, "etc", name))


def copy_context(target):
    ignored = [line.strip() for line in (PROJECT / ".dockerignore").read_text().splitlines()
               if line.strip() and not line.startswith("#")]
    target.mkdir(parents=True, exist_ok=True)
    for entry in PROJECT.iterdir():
        if any(fnmatch.fnmatch(entry.name, pattern) for pattern in ignored):
            continue
        if entry.is_dir():
            shutil.copytree(entry, target / entry.name, symlinks=True)
        else:
            shutil.copy2(entry, target / entry.name)


def build(dockerfile, scratch):
    stages, stage = {}, None
    for word, rest in instructions(dockerfile.read_text()):
        print(f"{word} {rest}", flush=True)
        if word == "FROM":
            image, _, name = rest.partition(" AS ")
            root = tempfile.mkdtemp(dir=scratch)
            os.chmod(root, 0o755)
            if image.startswith("debian:"):
                debian(image.removeprefix("debian:").split("-")[0], root)
            elif image != "scratch":
                fail(f"a stage from {image}: only debian and scratch are known here")
            stage = stages[name or str(len(stages))] = Stage(root)
        elif word == "WORKDIR":
            stage.folder = rest
            stage.inside(".").mkdir(parents=True, exist_ok=True)
        elif word == "COPY" and rest == ". .":
            copy_context(stage.inside("."))
        elif word == "COPY" and rest.startswith("--from="):
            origin, source, target = rest.removeprefix("--from=").split()
            shutil.copytree(stages[origin].inside(source), stage.inside(target), dirs_exist_ok=True)
        elif word == "RUN":
            if stage.run(["/bin/sh", "-c", rest]).returncode != 0:
                fail(f"RUN {rest}")
        elif word == "USER":
            stage.user = rest
        elif word == "ENTRYPOINT":
            stage.entry = json.loads(rest)
        else:
            fail(f"an instruction that is not known here: {word} {rest}")
    return stage


def use(image, source):
    """As `docker run --user UID -v FOLDER:/work`: the folder of a user, with a scenario of theirs."""
    expected = {"usr", "work"}
    found = {entry.name for entry in image.root.iterdir()}
    if found != expected:
        fail(f"the image holds {sorted(found)}, not {sorted(expected)}")
    if image.user.split(":")[0] == "0":
        fail("the image runs as root")
    work = image.inside(".")
    os.chown(work, *map(int, image.user.split(":")))
    scenario = (source / "scenarios/library/quickstart.json").read_text()
    # A trace that the image bundles, and a compute profile that it finds by its name.
    mine = scenario.replace("../../traces", "/usr/share/spillway/traces")
    (work / "mine.json").write_text(mine)
    def run(*arguments):
        done = image.run([*image.entry, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            fail(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr[-500:]}")
        return done.stdout

    answer = run("plan", "mine.json", "--out", "out", "--replications", "1", "--quiet")
    if "of DRAM" not in answer or not (work / "out/report.html").exists():
        fail(f"plan says {answer}")
    if "/usr/share/spillway/scenarios/library/quickstart.json" not in run("list", "scenarios"):
        fail("list scenarios does not name those of the image")
    run("run", "/usr/share/spillway/scenarios/library/quickstart.json", "--quiet", "--set",
        "compute.kind=profile", "--set", "compute.profile=l40s-kernels")
    size = sum(entry.stat().st_size for entry in (image.root / "usr").rglob("*") if entry.is_file())
    print(f"ok: the image holds {size / 1e6:.1f} MB; as user {image.user} it plans a scenario of /work: "
          f"{answer.splitlines()[0][:60]}...")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--keep")
    a = p.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("skipped: needs root, and debootstrap (apt-get install debootstrap)")
        sys.exit(77)
    if a.keep:
        os.makedirs(a.keep, exist_ok=True)
        use(build(PROJECT / "Dockerfile", a.keep), PROJECT)
        return
    with tempfile.TemporaryDirectory() as scratch:
        use(build(PROJECT / "Dockerfile", scratch), PROJECT)


if __name__ == "__main__":
    main()
