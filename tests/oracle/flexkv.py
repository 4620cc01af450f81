#!/usr/bin/env python3
"""Plain reference simulation of vLLM v1 with FlexKV: preset flexkv@1.2.

A slow, direct transcription of the rules of AMBIGUITIES_FLEXKV.md over scheduler.py and fleet.py. "F7" is a rule
of that page, "§10" a section of vllm-lmcache-llmd.md. flexkv_tree.py has the trees.

    python3 flexkv.py SCENARIO.json [--requests OUT.csv] [--totals OUT.json]
"""
import fleet as fleet_module
from fleet import Fleet, FleetConfig, Replica, decimal, read, totals
from flexkv_tree import Tree
from parts import Job

DRAM, NVME, REMOTE = range(3)                                  # tiers, trees and links go by these
DOWN, UP = range(2)                                            # of a tier's links


class FlexkvConfig(FleetConfig):
    """F1."""

    def __init__(self, scenario):
        scenario["engine"].setdefault("offload_connector", "flexkv")
        super().__init__(scenario)
        o = self.engine.get("flexkv", {})
        self.evict_start_threshold = decimal(o.get("evict_start_threshold", "0.7"))
        self.evict_ratio = decimal(o.get("evict_ratio", "0.05"))
        self.hit_reward_ns = int(o.get("hit_reward_seconds", 0)) * 10**9
        self.protected_hits = int(o.get("slru_protected_threshold", 2))


class Get:
    """F7 and F8: what a look-up has found and taken."""

    def __init__(self, found, locked):
        self.found = found                                     # n1, n2, n3
        self.locked = locked                                   # a node a tier
        self.buffers = 0                                       # slots of dram outside the tree
        self.in_dram = self.back_fill = None                   # nodes inserted
        self.request = None                                    # once it is admitted
        self.reads_left = self.jobs_left = 0

    def below_dram(self):
        return self.found[NVME] + self.found[REMOTE]


class Put:
    """F9. Blocks and new nodes by tier; 0 and None where a tier has no part."""

    def __init__(self, request, blocks, nodes):
        self.request, self.blocks, self.nodes = request, blocks, nodes
        self.jobs_left = sum(count > 0 for count in blocks)

    def new_nodes(self):
        return [node for node in self.nodes if node]


class FlexkvReplica(Replica):
    synchronous = False                                        # F7: the request parks

    def __init__(self, fleet, number):
        super().__init__(fleet, number)
        cfg = fleet.cfg
        self.trees = [Tree(cfg, spec, fleet) for spec in cfg.tiers]
        self.links = [cfg.links_of(spec) for spec in cfg.tiers]
        self.looked_up = None                                  # the Get of the attempt under way
        self.puts = []                                         # to be submitted by the next pass
        self.ended_gets, self.ended_puts = [], []              # requests, not seen by a boundary yet
        self.copying = 0                                       # gets and puts whose copy of the GPU has not ended
        self.buffers = 0                                       # F2

    def submit(self, tier, way, blocks, then):
        link = self.links[tier][way]
        job = Job(0, None, None, None, blocks * self.cfg.block_bytes)
        link.submit(job, self.fleet.now)
        self.fleet.at_end(job.end, then)

    # ---------------------------------------------------------------- look-up, F7

    def lookup(self, r, local_blocks):
        """Tokens."""
        assert self.looked_up is None
        blocks = r.tokens // self.cfg.B
        if blocks == local_blocks:
            return 0
        run = [r.key(i) for i in range(blocks)]
        matches = [tree.match(run) for tree in self.trees]
        ready = [match.ready for match in matches] + [0] * (3 - len(matches))
        run = run[:max(ready)]
        found = self.shares(ready, local_blocks)
        if not sum(found):
            return 0
        get = Get(found, [match.last_ready for match in matches])
        if get.below_dram() and not self.room_in_dram(get, matches[DRAM], run, local_blocks):
            return 0
        behind = max(ready[DRAM], local_blocks)
        if found[REMOTE] and ready[NVME] == matches[NVME].equal and ready[NVME] >= behind:
            self.plan_back_fill(get, matches[NVME], run)
        for node in get.locked:
            node.locks += 1
        self.looked_up = get
        return sum(found) * self.cfg.B

    def shares(self, ready, local_blocks):
        """n1, n2, n3: each tier gives the ready blocks behind those of the GPU and of the tiers before."""
        found, known = [], local_blocks
        for end in ready:
            found.append(max(0, end - known))
            known = max(known, end)
        return found

    def room_in_dram(self, get, match, run, local_blocks):
        """(1): a node, or buffers where it would not follow the ready blocks."""
        slots, dram = get.below_dram(), self.trees[DRAM]
        if not dram.take(slots, match.last):
            return False
        if match.ready == match.equal and match.ready >= local_blocks:
            assert len(run) - match.equal == slots
            get.in_dram = get.locked[DRAM] = dram.insert(match, run)
        else:
            get.buffers = slots
            self.buffers += slots
        return True

    def plan_back_fill(self, get, match, run):
        """(2): what the remote tier gives is to be in nvme, too."""
        nvme = self.trees[NVME]
        if nvme.take(get.found[REMOTE], match.last):
            assert len(run) - match.equal == get.found[REMOTE]
            get.back_fill = get.locked[NVME] = nvme.insert(match, run)

    def undo_look_up(self):
        """Nobody was admitted with it."""
        get, self.looked_up = self.looked_up, None
        if get is None:
            return
        self.unlock(get.locked)
        for tier, node in ((DRAM, get.in_dram), (NVME, get.back_fill)):
            if node:
                self.trees[tier].undo(node)
        self.free_buffers(get)

    def unlock(self, nodes):
        for node in nodes:
            node.locks -= 1

    def free_buffers(self, get):
        self.trees[DRAM].free += get.buffers
        self.buffers -= get.buffers

    def admitted(self, r, gpu, external, first):
        if first and external:                                 # F13
            for tree, blocks in zip(self.trees, self.looked_up.found):
                r.cached[tree.name] = blocks * self.cfg.B

    # ---------------------------------------------------------------- get, F8

    def start_load(self, r, local_blocks, external):
        get, self.looked_up = self.looked_up, None
        r.load_state = "loading"
        get.request = r
        return get

    def begin_get(self, get):
        """Reads of lower tiers into dram come first."""
        self.copying += 1
        get.jobs_left = 1 + bool(get.back_fill)                # the copy to the GPU, the back-fill
        reads = [tier for tier in (NVME, REMOTE) if get.found[tier]]
        get.reads_left = len(reads)
        for tier in reads:
            self.submit(tier, UP, get.found[tier], lambda: self.read_ended(get))
        if not reads:
            self.copy_to_gpu(get)

    def read_ended(self, get):
        get.reads_left -= 1
        if not get.reads_left:
            self.copy_to_gpu(get)

    def copy_to_gpu(self, get):
        if get.in_dram:
            get.in_dram.make_ready()
        if get.back_fill:
            self.submit(NVME, DOWN, get.found[REMOTE], lambda: self.back_fill_ended(get))
        self.submit(DRAM, UP, sum(get.found), lambda: self.load_ended(get))

    def back_fill_ended(self, get):
        get.back_fill.make_ready()
        self.get_job_ended(get)

    def load_ended(self, get):
        self.ended_gets.append(get.request)
        self.copying -= 1
        self.get_job_ended(get)

    def get_job_ended(self, get):
        get.jobs_left -= 1
        if not get.jobs_left:
            self.unlock(get.locked)
            self.free_buffers(get)

    # ---------------------------------------------------------------- put, F9 and F10

    def leave(self, r):
        """The request has completed; with a put it keeps its blocks."""
        self.running.remove(r)
        put = self.plan_put(r)
        if put:
            self.puts.append(put)
        else:
            self.free(r)

    def plan_put(self, r):
        run = [r.key(i) for i in range((r.tokens - 1) // self.cfg.B)]
        if not run:
            return None
        matches = [tree.match(run) for tree in self.trees]
        blocks = [len(run) - match.equal for match in matches]
        if not blocks[DRAM] or not self.take_for_put(blocks, matches):
            return None
        nodes = [tree.insert(match, run) if count else None
                 for tree, match, count in zip(self.trees, matches, blocks)]
        put = Put(r, blocks, nodes)
        for node in put.new_nodes():
            node.locks += 1
        return put

    def take_for_put(self, blocks, matches):
        """False: no put. A tier that has no room, but may lack the blocks, gets 0 of them."""
        dram, *lower = self.trees
        if not dram.take(blocks[DRAM], matches[DRAM].last):
            return False
        for tier, tree in enumerate(lower, NVME):
            if tree.take(blocks[tier], matches[tier].last):
                continue
            if len(lower) == 1:                                # nvme without a remote tier
                dram.free += blocks[DRAM]
                dram.refused += blocks[DRAM]
                return False
            blocks[tier] = 0
        return True

    def begin_put(self, put):
        self.copying += 1
        self.submit(DRAM, DOWN, put.blocks[DRAM], lambda: self.copy_to_dram_ended(put))

    def copy_to_dram_ended(self, put):
        self.put_job_ended(put, DRAM)
        self.ended_puts.append(put.request)
        self.copying -= 1
        for tier in range(NVME, len(self.trees)):
            if put.blocks[tier]:
                self.submit(tier, DOWN, put.blocks[tier], lambda tier=tier: self.put_job_ended(put, tier))

    def put_job_ended(self, put, tier):
        put.nodes[tier].make_ready()
        put.jobs_left -= 1
        if not put.jobs_left:
            self.unlock(put.new_nodes())

    # ---------------------------------------------------------------- steps, F11 and F12

    def schedule(self, now):
        result = super().schedule(now)
        self.undo_look_up()
        return result

    def worker(self, step, _stores):
        for get in step.loads:
            self.begin_get(get)
        for put in self.puts:
            self.begin_put(put)
        self.puts = []
        if step.plan:
            yield from self.wait(self.compute_time(step))

    def poll(self):
        """F11: held blocks of puts, then gets."""
        seen = self.news()
        for r in self.ended_puts:
            self.free(r)
        for r in self.ended_gets:
            r.load_state = "loaded"
        self.ended_puts, self.ended_gets = [], []
        for tier, tree in enumerate(self.trees):
            tree.check(self.buffers if tier == DRAM else 0)
        return seen

    def news(self):
        return bool(self.ended_puts or self.ended_gets)

    def check(self):
        super().check()
        self.poll()
        assert all(node.ready and not node.locks for tree in self.trees for node in tree.nodes), "locks"
        assert not self.buffers and not self.copying


def simulate(path):
    cfg, requests = read(path, FlexkvConfig)
    fleet = Fleet(cfg, requests)
    fleet.replicas = [FlexkvReplica(fleet, number) for number in range(cfg.replicas)]
    fleet.run()
    tiers = [(tree.name, tree, tree.blocks()) for r in fleet.replicas for tree in r.trees]
    links = [named for r in fleet.replicas for spec, ways in zip(cfg.tiers, r.links)
             for named in zip(cfg.link_names_of(spec), ways)]
    return cfg, requests, totals(fleet, tiers, links)


if __name__ == "__main__":
    fleet_module.main(simulate)
