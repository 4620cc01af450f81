"""SGLang's radix tree over device and host pages: look-ups, inserts, locks, both evictions, load back.

"§2.7" is rule 7 of section 2 of engines/decisions-sglang.md, "S3" is item 3 of AMBIGUITIES_SGLANG.md, "L6" its
rule L6.
Sizes are pages; where a rule speaks of tokens they are multiplied by the page size. Pages have no numbers:
free pages, pages of device nodes and pages that requests own always sum to the pool.
"""
import heapq
from collections import Counter

# S34. The least goes first.
MOST_HITS = 2**24 - 1
EVICTION = {
    "lru": lambda node: node.time,
    "lfu": lambda node: (min(node.hits, MOST_HITS), node.time),
    "slru": lambda node: (node.hits >= 2, node.time),
    "fifo": lambda node: node.made,
    "mru": lambda node: -node.time,
    "filo": lambda node: -node.made,
}


class Node:
    def __init__(self, parent, keys):
        self.parent, self.keys, self.children = parent, keys, {}
        self.device = self.host = False        # resident on the device; has a copy on the host
        self.locks = self.hits = self.guards = 0
        self.time = 0                          # of the last access, §2.2
        self.made = 0                          # of its creation, S34

    def __len__(self):
        return len(self.keys)


class Tree:
    """`engine` submits jobs and moves the clock: submit_write(node) gives a job, flush(jobs) waits for them."""

    def __init__(self, cfg, engine):
        self.cfg, self.p, self.engine = cfg, cfg.p, engine
        self.root = Node(None, [])
        self.root.device = self.root.host = True
        self.nodes = {}                        # all but the root, in order of creation
        self.free = cfg.pages                  # device pages in nobody's hands
        self.evictable = 0                     # pages of device nodes with lock 0, §2.4
        self.host_free = cfg.host_pages
        self.clock = 0
        self.rank = EVICTION[cfg.eviction]
        self.pending = []                      # loads not submitted yet: (deepest node, pages), §5.6
        self.stored = self.host_evictions = 0
        self.seen = Counter()                  # how often each rule was at work

    # ---------------------------------------------------------------- §2: walk, split, lock

    def touch(self, node):
        self.clock += 1
        node.time = self.clock

    def add(self, parent, keys):
        node = Node(parent, keys)
        parent.children[keys[0]] = node
        self.nodes[node] = None
        self.touch(node)
        node.made = self.clock
        return node

    def remove(self, node):
        del node.parent.children[node.keys[0]]
        del self.nodes[node]

    def split(self, node, at):
        """§2.1: the upper part is the new node."""
        upper = self.add(node.parent, node.keys[:at])          # takes the lower part's place there
        upper.device, upper.host = node.device, node.host
        upper.locks, upper.hits = node.locks, node.hits
        node.keys = node.keys[at:]                             # guards stay with this, the lower part (L3)
        node.parent = upper
        upper.children[node.keys[0]] = node
        self.seen["split"] += 1
        return upper

    def walk(self, keys, below=None):
        """The nodes along `keys`, touched; the last one is split where the keys leave it."""
        node, i = below or self.root, 0
        while i < len(keys) and keys[i] in node.children:
            node = node.children[keys[i]]
            self.touch(node)
            end = i + len(node)
            if node.keys == keys[i:end]:
                i = end
            else:
                same = 0
                while i + same < len(keys) and node.keys[same] == keys[i + same]:
                    same += 1
                i += same
                node = self.split(node, same)
            yield node

    def match(self, keys):
        """§2.3: (device pages, host-only pages, deepest device node, deepest node)."""
        device = host = 0
        device_node = node = self.root
        for node in self.walk(keys):
            if node.device:
                assert not host                                # the device holds whole paths from the root
                device += len(node)
                device_node = node
            else:
                assert node.host
                host += len(node)
        return device, host, device_node, node

    def lock(self, node):
        while node is not self.root:
            assert node.device
            if node.locks == 0:
                self.evictable -= len(node)
            node.locks += 1
            node = node.parent

    def unlock(self, node):
        while node is not self.root:
            node.locks -= 1
            assert node.locks >= 0 and node.device
            if node.locks == 0:
                self.evictable += len(node)
            node = node.parent

    def insert(self, keys, chunked):
        """§2.5, §5.1. The pages that were on the device already (their duplicates are the inserter's to free)."""
        node, there, i = self.root, 0, 0
        for node in self.walk(keys):
            i += len(node)
            if node.device:
                there += len(node)
                self.hit(node, chunked)
            else:                                              # takes the inserter's pages, without a hit
                assert node.locks == 0
                node.device = True
                self.evictable += len(node)
                self.seen["host node filled"] += 1
        if i < len(keys):
            leaf = self.add(node, keys[i:])
            leaf.device = True
            self.evictable += len(leaf)
            self.hit(leaf, chunked)
        return there

    def insert_host(self, anchor, keys):
        """L6: pages that storage has read. How many are a new node in host memory."""
        self.touch(anchor)
        node, met = anchor, 0
        for node in self.walk(keys, anchor):
            met += len(node)
            if not node.host:
                self.seen["L6: a node without copy"] += 1
                break
        self.seen["L6: met nodes"] += met > 0
        if met == len(keys) or not node.host:
            self.host_free += len(keys)
            return 0
        self.host_free += met
        leaf = self.add(node, keys[met:])
        leaf.host = True
        self.stored += len(leaf)
        self.seen["L6: new node"] += 1
        return len(leaf)

    # ---------------------------------------------------------------- §2.7, §5.3: device eviction

    def room(self, tokens):
        """"Room for n": if free < n, evict(n)."""
        if self.free * self.p < tokens:
            self.evict(tokens)

    def device_leaf(self, node):
        return node.device and not any(child.device for child in node.children.values())

    def evict(self, tokens):
        self.seen["evict"] += 1
        heap = [(self.rank(n), n) for n in self.nodes if n.locks == 0 and self.device_leaf(n)]
        heapq.heapify(heap)
        left, staged = 0, []                                   # pages that have left; write_back's written nodes
        while left * self.p < tokens and heap:
            node = heapq.heappop(heap)[1]
            if node.locks:
                continue
            if node.host:
                self.take_off(node)
                self.free += len(node)
                left += len(node)
                self.seen["demotion"] += 1
            elif self.cfg.policy != "write_back":
                assert not node.children
                self.take_off(node)
                self.free += len(node)
                left += len(node)
                self.remove(node)
                self.seen["deletion"] += 1
            elif job := self.write(node):
                node.guards += 1
                self.take_off(node)                            # its pages are free after the flush only
                staged.append((node, job))
                left += len(node)
            else:
                self.flush(staged)
                left += self.drop(node)
            parent = node.parent
            if parent is not self.root and self.device_leaf(parent):
                heapq.heappush(heap, (self.rank(parent), parent))
        self.flush(staged)

    def take_off(self, node):
        assert node.locks == 0
        node.device = False
        self.evictable -= len(node)

    def flush(self, staged):
        if staged:
            self.engine.flush([job for _, job in staged])
            self.seen["flush"] += 1
        for node, _ in staged:
            node.guards -= 1
            self.free += len(node)
        staged.clear()

    def drop(self, top):
        """§5.3: a node that could not be written goes with all below it, unless one of them is guarded."""
        nodes = [top]
        for node in nodes:
            nodes += node.children.values()
        if any(node.guards for node in nodes):
            self.seen["drop refused"] += 1
            return 0
        self.seen["drop"] += 1
        for node in nodes:
            if node.host:
                self.host_free += len(node)
                self.host_evictions += len(node)               # S15
            assert node.device == (node is top)
        self.take_off(top)
        self.free += len(top)
        del top.parent.children[top.keys[0]]
        for node in nodes:
            del self.nodes[node]
        return len(top)

    # ---------------------------------------------------------------- §5.1, §5.2, §5.4: copies on the host

    def hit(self, node, chunked):
        if chunked or self.cfg.policy == "write_back":         # S35: without HiCache they count too
            return
        node.hits += 1
        if self.cfg.hicache and not node.host and node.hits >= self.cfg.threshold:
            if node.parent.host:                               # the root counts as copied
                if self.write(node):
                    self.lock(node)                            # until acknowledged
            else:
                self.seen["write skipped: parent without copy"] += 1

    def write(self, node):
        """A job, or None: refused."""
        if self.host_free < len(node):
            self.evict_host(len(node))
        if self.host_free < len(node):
            self.seen["copy refused"] += 1
            return None
        self.host_free -= len(node)
        node.host = True
        self.stored += len(node)
        return self.engine.submit_write(node)

    def evict_host(self, pages):
        heap = [(self.rank(n), n) for n in self.nodes if n.host and not n.device and not n.children]
        heapq.heapify(heap)
        left = 0
        while left < pages and heap:
            node = heapq.heappop(heap)[1]
            if node.guards:
                self.seen["host eviction met a guard"] += 1
                continue
            self.host_free += len(node)
            left += len(node)
            self.remove(node)
            self.seen["host eviction"] += 1
            parent = node.parent
            if not parent.children and not parent.device:
                heapq.heappush(heap, (self.rank(parent), parent))
        self.host_evictions += left

    # ---------------------------------------------------------------- §5.5: load back

    def load(self, deepest):
        """The whole host-only chain that ends at `deepest`. True if it is resident now."""
        chain, ancestor = [], deepest
        while not ancestor.device:
            chain.append(ancestor)
            ancestor = ancestor.parent
        pages = sum(len(n) for n in chain)
        if pages * self.p < 10:
            self.seen["load too small"] += 1
            return False
        self.lock(ancestor)
        for node in chain:
            node.guards += 1
        self.room(pages * self.p)
        for node in chain:
            node.guards -= 1
        self.unlock(ancestor)
        if self.free < pages:
            self.seen["load without room"] += 1
            return False
        self.free -= pages
        for node in chain:
            assert node.host and not node.locks
            node.device = True
        self.evictable += pages
        self.lock(deepest)                                     # until acknowledged
        self.pending.append((deepest, pages))
        self.seen["load back"] += 1
        return True

    # ---------------------------------------------------------------- checks

    def check(self, owned, guarded, taken):
        """`owned`: pages that requests own beside the tree; `taken`: host pages of prefetches beside it."""
        nodes, guards = list(self.nodes), Counter(guarded)
        assert self.free >= 0 and self.host_free >= 0 and self.evictable >= 0
        assert self.free + sum(len(n) for n in nodes if n.device) + owned == self.cfg.pages
        assert self.evictable == sum(len(n) for n in nodes if n.device and not n.locks)
        assert self.host_free + sum(len(n) for n in nodes if n.host) + taken == self.cfg.host_pages
        for n in nodes:
            assert n.keys and n.parent.children[n.keys[0]] is n and n.guards == guards[n]
            assert n.device or n.host
            assert not n.device or n.parent.device
            assert n.locks <= n.parent.locks or n.parent is self.root
            if self.cfg.policy != "write_back":
                assert not n.host or n.parent.host
