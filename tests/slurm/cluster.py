#!/usr/bin/env python3
"""A real Slurm cluster of two nodes on this machine, for tests: munged, slurmctld and two slurmd.

Everything lies in one folder: its own munge key and socket, its own slurm.conf, logs and spools,
ports that were free. No systemd and no root are needed, and nothing of an installed Slurm is read
or written. Every process carries a mark in its environment, by which stop() finds all of them,
steps and tasks of jobs included; the daemons also end with the process that started them.

    tests/slurm/cluster.py FOLDER [COMMAND...]    runs COMMAND (or a shell) with SLURM_CONF set
"""

import atexit
import ctypes
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")
PLACES = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/local/sbin"
PR_SET_PDEATHSIG = 1
MARK = "SPILLWAY_TEST_CLUSTER"

CONFIG = """\
ClusterName=spillway
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=10
InactiveLimit=0
KillWait=1
MinJobAge=300
MaxArraySize={max_array_size}
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1 RealMemory=4000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1 RealMemory=4000
PartitionName=cpu Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


class Unavailable(Exception):
    """Why this machine cannot run such a cluster."""


def find(program):
    path = shutil.which(program, path=PLACES)
    if path is None:
        raise Unavailable(f"{program} is not installed (packages slurm-wlm and munge)")
    return path


def free_ports(count):
    """Ports that nobody listens on now; all are held until all are known."""
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def dies_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Cluster:
    """Starts on entry, ends all on exit."""

    def __init__(self, folder, max_array_size=1001):
        self.folder = pathlib.Path(folder).resolve()
        self.programs = {name: find(name) for name in PROGRAMS}
        self.max_array_size = max_array_size
        self.daemons = {}
        self.env = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"))
        for name in [name for name in self.env if name.startswith(("SBATCH_", "SQUEUE_"))]:
            del self.env[name]  # defaults of whoever runs the tests

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        os.chmod(self.folder, 0o755)  # munge's socket is looked up by all
        for name in ("state", "n1", "n2"):
            (self.folder / name).mkdir(exist_ok=True)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        os.chmod(key, 0o600)
        (self.folder / "slurm.conf").write_text(
            CONFIG.format(
                host=socket.gethostname().split(".")[0],
                ports=free_ports(3),
                user=pwd.getpwuid(os.getuid()).pw_name,
                folder=self.folder,
                max_array_size=self.max_array_size,
            )
        )
        atexit.register(self.stop)
        at = self.folder
        self.spawn(
            "munged", ["--foreground", "--force", f"--key-file={key}",
                       f"--socket={at}/munge.socket",
                       f"--pid-file={at}/munged.pid", f"--log-file={at}/munged.log",
                       f"--seed-file={at}/munged.seed"])
        self.wait("munged", lambda: (at / "munge.socket").exists(), "munged")
        self.start_controller()
        for node in ("n1", "n2"):
            self.start_node(node)
        self.wait("two idle nodes", lambda: self.nodes() == {"n1": "idle", "n2": "idle"},
                  "slurmctld", "n1", "n2")

    def spawn(self, name, arguments, program=None):
        log = open(self.folder / f"{name}.out", "ab")
        self.daemons[name] = subprocess.Popen(
            [self.programs[program or name], *arguments],
            env=dict(self.env, **{MARK: f"{self.folder}/{name}"}),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            preexec_fn=dies_with_parent)
        log.close()

    def start_controller(self):
        self.spawn("slurmctld", ["-D", "-f", self.env["SLURM_CONF"]])
        self.wait("the controller", lambda: self.ask("scontrol", "ping").returncode == 0,
                  "slurmctld")

    def start_node(self, node):
        self.spawn(node, ["-D", "-N", node, "-f", self.env["SLURM_CONF"]], "slurmd")

    def kill_controller(self):
        self.daemons["slurmctld"].kill()
        self.daemons.pop("slurmctld").wait()

    def kill_node(self, node):
        """As if its power were cut: slurmd, its step daemons and the tasks of jobs."""
        self.daemons.pop(node)
        self.kill_marked(lambda mark, of: mark == f"{self.folder}/{node}" or of == node)

    def ask(self, program, *arguments, timeout=60):
        return subprocess.run([find(program), *arguments], env=self.env, text=True,
                              capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)

    def nodes(self):
        """State by node, as far as the controller knows."""
        told = self.ask("sinfo", "-h", "-N", "-o", "%N %t").stdout.split("\n")
        return dict(line.split() for line in told if line.strip())

    def wait(self, what, ready, *daemons, seconds=60):
        until = time.monotonic() + seconds
        while not ready():
            for name in daemons:
                if self.daemons[name].poll() is not None:
                    raise Unavailable(f"{name} does not run here: {self.last_words(name)}")
            if time.monotonic() > until:
                words = "; ".join(f"{name}: {self.last_words(name)}" for name in daemons)
                raise Unavailable(f"no {what} within {seconds} s; {words}")
            time.sleep(0.05)

    def last_words(self, name):
        for path in (self.folder / f"{name}.log", self.folder / f"{name}.out"):
            if path.exists() and path.stat().st_size > 0:
                lines = path.read_text(errors="replace").strip().split("\n")
                bad = [line for line in lines if "error" in line.lower()]
                return (bad or lines)[-1]
        return "no word"

    def kill_marked(self, chosen):
        """Ends processes by their marks until none is left; `chosen` sees (mark, node)."""
        own = os.getpid()
        while True:
            found = False
            for entry in pathlib.Path("/proc").iterdir():
                if not entry.name.isdigit() or int(entry.name) == own:
                    continue
                try:
                    text = (entry / "environ").read_bytes().decode(errors="replace")
                except OSError:
                    continue
                facts = dict(part.split("=", 1) for part in text.split("\0") if "=" in part)
                mark = facts.get(MARK, "")
                ours = mark.startswith(f"{self.folder}/") or (
                    facts.get("SLURM_CONF") == self.env["SLURM_CONF"] and "SLURM_JOB_ID" in facts)
                if not ours or not chosen(mark, facts.get("SLURMD_NODENAME", "")):
                    continue
                try:
                    state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                    if state in "ZX":
                        continue
                    os.kill(int(entry.name), signal.SIGKILL)
                    found = True
                except OSError:
                    continue
            if not found:
                return
            time.sleep(0.02)

    def stop(self):
        self.kill_marked(lambda mark, node: True)
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()
        self.daemons.clear()
        atexit.unregister(self.stop)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        with Cluster(sys.argv[1]) as cluster:
            command = sys.argv[2:] or [os.environ.get("SHELL", "/bin/sh")]
            return subprocess.run(command, env=cluster.env).returncode
    except Unavailable as why:
        print(f"skipped: {why}")
        return 0


if __name__ == "__main__":
    sys.exit(main())
