"""The passive part of the FlexKV oracle: one tier's radix tree and its slots.

"F3" is rule F3 of AMBIGUITIES_FLEXKV.md. Times are integer nanoseconds; nothing here takes any.
"""
import math
from collections import namedtuple

from fleet import Counts, bytes_of

# F3: equal blocks; those of leading ready nodes; where it ended, how many blocks of that node are equal; the last of
# the leading ready nodes.
Match = namedtuple("Match", "equal ready last last_equal last_ready")


class Node:
    """F2. A run of blocks, a slot each."""

    def __init__(self, number, blocks, parent, now):
        self.number, self.blocks, self.parent = number, blocks, parent
        self.children = {}                                     # by their first block
        self.ready, self.locks = False, 0
        self.access = self.grace = self.created = now
        self.hits = 0
        self.inserted = len(blocks)                            # splits take blocks off its head later

    def make_ready(self):
        """F4: and the nodes that splits took off its head."""
        node, left = self, self.inserted
        while left > 0:
            node.ready = True
            left -= len(node.blocks)
            node = node.parent
        assert left == 0

    def equal_to(self, run, start):
        """How many leading blocks are those of the run from `start` on."""
        equal = 0
        while equal < len(self.blocks) and start + equal < len(run) and self.blocks[equal] == run[start + equal]:
            equal += 1
        return equal


class Tree(Counts):
    """The fleet gives the time."""

    def __init__(self, cfg, spec, fleet):
        super().__init__()
        self.cfg, self.fleet = cfg, fleet
        self.name, self.policy = spec["name"], spec.get("eviction", "lru")
        self.total = self.free = math.floor(bytes_of(spec["capacity"]) / cfg.block_bytes)
        assert self.total >= 1
        self.made = 0                                          # nodes: the next one's number
        self.nodes = set()
        self.root = Node(-1, [], None, 0)
        self.root.ready = True

    def blocks(self):
        return sum(len(node.blocks) for node in self.nodes)

    # ---------------------------------------------------------------- match, F3

    def match(self, run):
        last = last_ready = self.root
        equal = ready = last_equal = 0
        all_ready = True
        while equal < len(run) and last_equal == len(last.blocks) and run[equal] in last.children:
            last = last.children[run[equal]]
            self.touch(last)
            last_equal = last.equal_to(run, equal)
            equal += last_equal
            all_ready = all_ready and last.ready
            if all_ready:
                ready, last_ready = equal, last
        return Match(equal, ready, last, last_equal, last_ready)

    def touch(self, node):
        now = self.fleet.now
        node.access = now
        node.grace = max(node.grace, now) + self.cfg.hit_reward_ns
        node.hits += 1

    # ---------------------------------------------------------------- insert, F4

    def insert(self, match, run):
        """A leaf of the run's blocks behind the equal ones."""
        parent, blocks = match.last, run[match.equal:]
        assert blocks
        if match.last_equal < len(parent.blocks):
            parent = self.split(parent, match.last_equal)
        assert blocks[0] not in parent.children
        self.stored += len(blocks)
        return self.new_node(blocks, parent)

    def new_node(self, blocks, parent):
        node = Node(self.made, list(blocks), parent, self.fleet.now)
        self.made += 1
        parent.children[blocks[0]] = node
        self.nodes.add(node)
        return node

    def split(self, node, head):
        """The new parent of the rest."""
        upper = self.new_node(node.blocks[:head], node.parent)
        upper.ready, upper.hits = node.ready, node.hits
        upper.access, upper.grace, upper.created = node.access, node.grace, node.created
        node.blocks = node.blocks[head:]
        node.parent, upper.children = upper, {node.blocks[0]: node}
        return upper

    def remove(self, node):
        """Its slots are free."""
        assert not node.children
        del node.parent.children[node.blocks[0]]
        self.nodes.remove(node)
        self.free += len(node.blocks)

    def undo(self, node):
        """F7: as if it had not been inserted."""
        self.stored -= len(node.blocks)
        self.remove(node)

    # ---------------------------------------------------------------- slots, F5 and F6

    def take(self, slots, protected):
        """F5. False where it fails."""
        if slots == 0:
            return True
        threshold = self.cfg.evict_start_threshold
        if self.total - self.free >= threshold * self.total or slots > self.free:
            protected.locks += 1
            self.evict(max(slots - self.free, math.floor(self.total * (1 - threshold)) - self.free,
                           math.floor(self.total * self.cfg.evict_ratio)))
            protected.locks -= 1
        if slots > self.free:
            self.refused += slots
            return False
        self.free -= slots
        return True

    def evict(self, blocks):
        """F6."""
        while blocks > 0:
            candidates = [node for node in self.nodes if node.ready and not node.children and not node.locks]
            if not candidates:
                return
            node = min(candidates, key=self.order)
            leaving = min(blocks, len(node.blocks))
            if leaving < len(node.blocks):
                node.blocks = node.blocks[:-leaving]
                self.free += leaving
            else:
                self.remove(node)
            self.evictions += leaving
            blocks -= leaving

    def order(self, node):
        """The first one leaves first."""
        key = {"lru": (node.grace,),
               "lfu": (node.hits, node.access),
               "slru": (node.hits >= self.cfg.protected_hits, node.access),
               "fifo": (node.created,),
               "mru": (-node.access,),
               "filo": (-node.created,)}[self.policy]
        return (*key, node.number)

    # ---------------------------------------------------------------- checks

    def check(self, buffers):
        """At every boundary; `buffers` are slots outside the tree (F7)."""
        assert self.total - self.free == self.blocks() + buffers, "slots"
