"""FlexKV on vLLM, after AMBIGUITIES_FLEXKV.md."""
import math
import fleet as fleet_module
from fleet import Counts, Fleet, FleetConfig, Replica, bytes_of, decimal, read, totals
from parts import Job
class Cfg(FleetConfig):
    def __init__(s, sc):
        sc["engine"].setdefault("offload_connector","flexkv"); super().__init__(sc)
        o=s.engine.get("flexkv",{})
        s.th=decimal(o.get("evict_start_threshold","0.7")); s.ratio=decimal(o.get("evict_ratio","0.05"))
        s.reward=int(o.get("hit_reward_seconds",0))*10**9; s.prot=int(o.get("slru_protected_threshold",2))
class Node:
    def __init__(s,no,blocks,parent,now):
        s.no,s.blocks,s.parent=no,blocks,parent; s.kids={}; s.ready=False; s.locks=0
        s.access=s.grace=s.created=now; s.hits=0; s.size=len(blocks)
def set_ready(n):
    left=n.size
    while left>0:
        n.ready=True; left-=len(n.blocks); n=n.parent
    assert left==0
class Tree(Counts):
    def __init__(s,cfg,spec,fl):
        super().__init__(); s.cfg,s.fl=cfg,fl; s.name=spec["name"]
        s.total=math.floor(bytes_of(spec["capacity"])/cfg.block_bytes); assert s.total>=1
        s.free=s.total; s.policy=spec.get("eviction","lru"); s.count=0
        s.root=Node(-1,[],None,0); s.root.ready=True; s.nodes=set()
    def match(s,run):
        now=s.fl.now; n=s.root; m=r=0; last=(s.root,0); lastready=s.root; lead=True
        while m<len(run):
            c=n.kids.get(run[m])
            if c is None: break
            c.access=now; c.grace=max(c.grace,now)+s.cfg.reward; c.hits+=1
            k=0
            while k<len(c.blocks) and m+k<len(run) and c.blocks[k]==run[m+k]: k+=1
            m+=k; last=(c,k); lead=lead and c.ready
            if lead: r+=k; lastready=c
            if k<len(c.blocks): break
            n=c
        return m,r,last,lastready
    def insert(s,last,blocks):
        node,k=last; now=s.fl.now; assert blocks
        if node is not s.root and k<len(node.blocks):
            up=Node(s.count,node.blocks[:k],node.parent,now); s.count+=1
            up.ready,up.access,up.grace,up.created,up.hits=node.ready,node.access,node.grace,node.created,node.hits
            node.parent.kids[up.blocks[0]]=up; node.blocks=node.blocks[k:]; up.kids={node.blocks[0]:node}; node.parent=up
            s.nodes.add(up); node=up
        c=Node(s.count,list(blocks),node,now); s.count+=1
        assert c.blocks[0] not in node.kids
        node.kids[c.blocks[0]]=c; s.nodes.add(c); s.stored+=len(blocks); return c
    def remove(s,n):
        assert not n.kids; del n.parent.kids[n.blocks[0]]; s.nodes.remove(n)
    def key(s,n):
        return {"lru":(n.grace,),"lfu":(n.hits,n.access),"slru":(n.hits>=s.cfg.prot,n.access),"fifo":(n.created,),
                "mru":(-n.access,),"filo":(-n.created,)}[s.policy]+(n.no,)
    def evict(s,x):
        while x>0:
            c=[n for n in s.nodes if not n.kids and n.ready and not n.locks]
            if not c: break
            n=min(c,key=s.key)
            if len(n.blocks)>x: n.blocks=n.blocks[:-x]; s.free+=x; s.evictions+=x; x=0
            else: x-=len(n.blocks); s.free+=len(n.blocks); s.evictions+=len(n.blocks); s.remove(n)
    def take(s,k,prot):
        if k==0: return True
        if s.total-s.free>=s.cfg.th*s.total or k>s.free:
            prot.locks+=1
            s.evict(max(k-s.free, math.floor(s.total*(1-s.cfg.th))-s.free, math.floor(s.total*s.cfg.ratio)))
            prot.locks-=1
        if k>s.free: s.refused+=k; return False
        s.free-=k; return True
class Rep(Replica):
    synchronous=False
    def __init__(s,fl,no,_):
        super().__init__(fl,no); cfg=fl.cfg
        s.trees=[Tree(cfg,t,fl) for t in cfg.tiers]; s.links=[cfg.links_of(t) for t in cfg.tiers]
        s.pending=None; s.puts=[]; s.ended_gets=[]; s.ended_puts=[]; s.under=0; s.buffers=0
        for r in s.requests: r.plan=None
    def job(s,link,blocks,then):
        j=Job(0,None,None,None,blocks*s.cfg.block_bytes); link.submit(j,s.fleet.now); s.fleet.at_end(j.end,then)
    def lookup(s,r,g):
        t=r.tokens//s.cfg.B
        assert s.pending is None
        if t==g: return 0
        run=[r.key(i) for i in range(t)]
        M=[x.match(run) for x in s.trees]; rs=[m[1] for m in M]+[0]*(3-len(M)); r1,r2,r3=rs; top=max(rs)
        if top<=g: return 0
        n1=max(0,r1-g); n2=max(0,r2-max(r1,g)); n3=max(0,r3-max(r1,r2,g)); k=n2+n3
        assert n1+k==top-g
        p=dict(n=(n1,n2,n3),buf=0,dram=None,back=None,locks=[],ins=[])
        lock=[m[3] for m in M]
        if k:
            d=s.trees[0]
            if not d.take(k,M[0][2][0]): return 0
            if r1==M[0][0] and r1>=g:
                assert top-r1==k
                p["dram"]=lock[0]=d.insert(M[0][2],run[r1:top]); p["ins"].append((d,lock[0]))
            else: p["buf"]=k; s.buffers+=k
        if n3 and M[1][0]==r2 and r2>=max(r1,g):
            v=s.trees[1]
            if v.take(n3,M[1][2][0]):
                assert top-r2==n3
                p["back"]=lock[1]=v.insert(M[1][2],run[r2:top]); p["ins"].append((v,lock[1]))
        for n in lock: n.locks+=1
        p["locks"]=lock; s.pending=p
        return (n1+k)*s.cfg.B
    def undo(s):
        p,s.pending=s.pending,None
        if not p: return
        for n in p["locks"]: n.locks-=1
        for tree,n in p["ins"]: tree.free+=len(n.blocks); tree.stored-=len(n.blocks); tree.remove(n)
        s.trees[0].free+=p["buf"]; s.buffers-=p["buf"]
    def admitted(s,r,gpu,ext,first):
        if first and ext:
            for t,n in zip(s.trees,s.pending["n"]): r.cached[t.name]=n*s.cfg.B
    def start_load(s,r,local,ext):
        r.load_state="loading"; p,s.pending=s.pending,None; p["r"]=r; return p
    def get(s,p):
        n1,n2,n3=p["n"]; s.under+=1; left=[bool(n2)+bool(n3)]; open_=[1+bool(p["back"])]
        def closed():
            open_[0]-=1
            if not open_[0]:
                for n in p["locks"]: n.locks-=1
                s.trees[0].free+=p["buf"]; s.buffers-=p["buf"]
        def up_done(): s.ended_gets.append(p["r"]); s.under-=1; closed()
        def back_done(): set_ready(p["back"]); closed()
        def read():
            if p["dram"]: set_ready(p["dram"])
            if p["back"]: s.job(s.links[1][0],n3,back_done)
            s.job(s.links[0][1],n1+n2+n3,up_done)
        def one():
            left[0]-=1
            if not left[0]: read()
        if n2: s.job(s.links[1][1],n2,one)
        if n3: s.job(s.links[2][1],n3,one)
        if not n2+n3: read()
    def leave(s,r):
        s.running.remove(r)
        pl=(r.tokens-1)//s.cfg.B; run=[r.key(i) for i in range(pl)]
        if pl:
            M=[x.match(run) for x in s.trees]; k=[pl-m[0] for m in M]
            ok=k[0]>0 and s.trees[0].take(k[0],M[0][2][0])
            if ok and len(k)>1 and k[1]:
                if not s.trees[1].take(k[1],M[1][2][0]):
                    if len(k)==2: s.trees[0].free+=k[0]; s.trees[0].refused+=k[0]; ok=False
                    else: k[1]=0
            if ok and len(k)>2 and k[2] and not s.trees[2].take(k[2],M[2][2][0]): k[2]=0
            if ok:
                nodes=[t.insert(m[2],run[m[0]:]) if kk else None for t,m,kk in zip(s.trees,M,k)]
                for n in nodes:
                    if n: n.locks+=1
                s.puts.append((r,k,nodes)); return
        s.free(r)
    def put(s,r,k,nodes):
        s.under+=1; left=[sum(x>0 for x in k)]
        def done(i):
            set_ready(nodes[i]); left[0]-=1
            if i==0:
                s.ended_puts.append(r); s.under-=1
                for q in range(1,len(k)):
                    if k[q]: s.job(s.links[q][0],k[q],lambda q=q:done(q))
            if not left[0]:
                for n in nodes:
                    if n: n.locks-=1
        s.job(s.links[0][0],k[0],lambda:done(0))
    def schedule(s,now):
        out=super().schedule(now); s.undo(); return out
    def worker(s,step,_):
        for p in step.loads: s.get(p)
        for x in s.puts: s.put(*x)
        s.puts=[]
        if step.plan: yield from s.wait(s.compute_time(step))
    def poll(s):
        seen=bool(s.ended_puts or s.ended_gets)
        for r in s.ended_puts: s.free(r)
        for r in s.ended_gets: r.load_state="loaded"
        s.ended_puts,s.ended_gets=[],[]
        for t in s.trees:
            assert t.total-t.free==sum(len(n.blocks) for n in t.nodes)+(s.buffers if t is s.trees[0] else 0)
        return seen
    def news(s): return bool(s.ended_puts or s.ended_gets)
    def check(s):
        super().check(); s.poll()
        assert all(not n.locks and n.ready for t in s.trees for n in t.nodes), "locks"
        assert not s.buffers and not s.under
def simulate(path):
    cfg,reqs=read(path,Cfg); fl=Fleet(cfg,reqs)
    fl.replicas=[Rep(fl,i,None) for i in range(cfg.replicas)]; fl.run()
    T=[(t.name,t,sum(len(n.blocks) for n in t.nodes)) for r in fl.replicas for t in r.trees]
    L=[(nm,l) for r in fl.replicas for t,ls in zip(cfg.tiers,r.links) for nm,l in zip(cfg.link_names_of(t),ls)]
    return cfg,reqs,totals(fl,T,L)


if __name__ == "__main__":
    fleet_module.main(simulate)
