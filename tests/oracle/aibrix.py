"""AIBrix KVCache on vLLM, after AMBIGUITIES_AIBRIX.md."""
import math
from collections import OrderedDict
import fleet as fleet_module
from fleet import Counts, Fleet, FleetConfig, Replica, bytes_of, decimal, read, totals
from parts import Job, ceil_div
class Cfg(FleetConfig):
    def __init__(s, sc):
        sc["engine"].setdefault("offload_connector","aibrix"); super().__init__(sc)
        o=s.engine.get("aibrix",{}); B=s.B
        s.K=max(int(o.get("chunk_tokens",512))//B,4); s.skip=int(o.get("skip_blocks",8))
        s.small=decimal(o.get("small_fifo_ratio","0.3")); s.promo=int(o.get("promo_threshold",1))
        s.ing={"hot":"hot","all":"put","evicted":"evict"}[o.get("ingestion","hot")]
        q=int(o.get("max_inflight_tokens",0))//B; s.quota=max(q,2*s.K) if q else 0
        s.tmo=decimal(o.get("per_token_timeout_ms",20))*10**6
        s.dg=int(o.get("double_get_blocks",4)); s.dr=decimal(o.get("double_get_ratio","0.1"))
class L2(Counts):
    def __init__(s,cfg,spec,links):
        super().__init__(); s.cap=bytes_of(spec.get("capacity")); s.none=spec.get("eviction","lru")=="none"
        s.b=cfg.block_bytes; s.keys=OrderedDict(); s.down,s.up=links; s.name=spec["name"]
        s.look=math.ceil(decimal(spec.get("lookup_us",0))*1000)
    def written(s,k):
        if k in s.keys: s.keys.move_to_end(k); return
        if s.b>s.cap or (s.none and (len(s.keys)+1)*s.b>s.cap): s.refused+=1; return
        while (len(s.keys)+1)*s.b>s.cap: s.keys.popitem(last=False); s.evictions+=1
        s.keys[k]=1; s.stored+=1
    def lead(s,ks):
        n=0
        for k in ks:
            if k not in s.keys: break
            n+=1
        return n
class Buf:
    def __init__(s): s.refs=1
class L1(Counts):
    def __init__(s,rep,spec):
        super().__init__(); cfg=rep.cfg; s.rep,s.cfg=rep,cfg; s.b=cfg.block_bytes; s.cap=bytes_of(spec["capacity"])
        s.pool=math.floor(s.cap/s.b)+((2*cfg.K+(cfg.quota or cfg.K)) if rep.l2 else 0); s.inuse=0
        s.pol=spec.get("eviction","s3fifo"); s.q={"small":OrderedDict(),"main":OrderedDict()}; s.ghost=set(); s.hot={}
        s.smallcap=math.floor(s.cap*s.cfg.small); s.maincap=s.cap-s.smallcap
    def where(s,k): return "small" if k in s.q["small"] else "main" if k in s.q["main"] else None
    def used(s): return (len(s.q["small"])+len(s.q["main"]))*s.b
    def up(s,buf): buf.refs+=1
    def down(s,buf):
        buf.refs-=1; assert buf.refs>=0
        if not buf.refs: s.inuse-=1
    def get(s,k):
        w=s.where(k); buf=s.q[w][k]
        if s.pol=="s3fifo":
            if w=="small" and s.hot[k]==s.cfg.promo-1: yield from s.rep.call("hot",k,buf)
            s.hot[k]=min(3,s.hot[k]+1)
        else:
            if s.hot[k]==0: yield from s.rep.call("hot",k,buf)
            s.hot[k]=1
            if s.pol=="lru": s.q[w].move_to_end(k)
        return buf
    def put(s,k,buf):
        w=s.where(k)
        if s.pol=="s3fifo" and k in s.ghost:
            s.ghost.remove(k); s.q["main"][k]=buf; s.hot[k]=0; s.stored+=1; yield from s.rep.call("hot",k,buf)
        elif w:
            s.down(s.q[w][k]); s.q[w][k]=buf
            if s.pol!="fifo": s.q[w].move_to_end(k)
            if s.pol!="s3fifo": s.hot[k]=0
        else: s.q["small"][k]=buf; s.hot[k]=0; s.stored+=1; yield from s.rep.call("put",k,buf)
        if s.used()>s.cap: yield from s.evict(1)
    def gone(s,k,buf):
        yield from s.rep.call("evict",k,buf); s.down(buf); del s.hot[k]; s.evictions+=1
    def main_one(s):
        k,buf=s.q["main"].popitem(last=False)
        if s.hot[k]>=1: s.hot[k]-=1; s.q["main"][k]=buf
        else: yield from s.gone(k,buf)
    def evict(s,x):
        goal=max(0,min(s.used(),s.cap)-x)
        while s.used()>goal:
            if s.pol!="s3fifo":
                k,buf=s.q["small"].popitem(last=False); yield from s.gone(k,buf); continue
            if len(s.q["small"])*s.b>s.smallcap or not s.q["main"]:
                k,buf=s.q["small"].popitem(last=False)
                if s.hot[k]>=s.cfg.promo:
                    s.hot[k]=0; s.q["main"][k]=buf
                    while len(s.q["main"])*s.b>s.maincap: yield from s.main_one()
                else: yield from s.gone(k,buf); s.ghost.add(k)
            else: yield from s.main_one()
    def ask(s,k):
        while s.pool-s.inuse==0 and s.used()>0: yield from s.evict(k*s.b)
        n=min(k,s.pool-s.inuse); assert n>=0; s.inuse+=n
        return [Buf() for _ in range(n)]
class Rep(Replica):
    synchronous=True
    def __init__(s,fl,no,mk):
        super().__init__(fl,no); cfg=fl.cfg; s.l2=mk(no); s.l1=L1(s,cfg.tiers[0]); s.down,s.up=cfg.links_of(cfg.tiers[0])
        s.flight=0; s.order=[]; s.R={}
    def lookup(s,r,g): return 0
    def admitted(s,*a): pass
    def submit(s,link,n,then=None):
        j=Job(0,None,None,None,n*s.cfg.block_bytes); link.submit(j,s.fleet.now)
        s.fleet.at_end(j.end,then or (lambda:None)); return j.end
    def until(s,t):
        if t>s.fleet.now: yield t
    def call(s,kind,k,buf):
        if not s.l2 or kind!=s.cfg.ing: return
        if s.cfg.quota and s.flight>=s.cfg.quota: s.l2.refused+=1; return
        if s.cfg.quota:
            s.flight+=1; s.l1.up(buf)
            def done(): s.flight-=1; s.l1.down(buf); s.l2.written(k)
            s.submit(s.l2.down,1,done); return
        end=s.submit(s.l2.down,1,lambda:s.l2.written(k)); yield from s.until(end)
    def test(s,missing,m): return s.l2 and missing>=max(1,s.cfg.dg) and missing>=s.cfg.dr*m
    def chunk(s,keys):
        m=len(keys); bufs=[]
        for k in keys:
            if not s.l1.where(k): break
            b=yield from s.l1.get(k); s.l1.up(b); bufs.append(b)
        h=len(bufs); g=0
        if s.test(m-h,m):
            nb=yield from s.l1.ask(m-h); k=len(nb); start=s.fleet.now
            if k:
                dl=start+(m-h)*s.cfg.B*s.cfg.tmo; late=False; dl=math.ceil(dl)
                if start+s.l2.look>dl: late=True
                else:
                    yield from s.until(start+s.l2.look); g=s.l2.lead(keys[h:h+k])
                    if g:
                        ks=keys[h:h+g]
                        end=s.submit(s.l2.up,g,lambda:[s.l2.keys.move_to_end(x) for x in ks if x in s.l2.keys])
                        if end>dl: late=True
                        else: yield from s.until(end)
                if late: yield from s.until(dl); g=0
                for b in nb[g:]: s.l1.down(b)
                for x,b in zip(keys[h:h+g],nb):
                    s.l1.up(b); bufs.append(b); yield from s.l1.put(x,b)
        if h+g: yield from s.until(s.submit(s.up,h+g))
        for b in bufs: s.l1.down(b)
        return h,g
    def load(s,r,c,q):
        B=s.cfg.B; f,l=c//B,(c+q)//B; src=[]
        if l-f<s.cfg.skip: return 0
        for a in range(f,l,s.cfg.K):
            ks=[r.key(i) for i in range(a,min(l,a+s.cfg.K))]
            h,g=yield from s.chunk(ks); src+=[0]*h+[1]*g
            if h+g<len(ks): break
        R=len(src)*B-(c-B*f) if src else 0
        if not r.preemptions and src:
            for i,w in enumerate(src): r.cached[s.cfg.tiers[w]["name"]]+=B-((c-B*f) if i==0 else 0)
        assert 0<=R<=q; return R
    def store(s,r,c,q,R):
        if R==q: return
        B=s.cfg.B; f,l=(c+R)//B,(c+q)//B
        for a in range(f,l,s.cfg.K):
            ks=[r.key(i) for i in range(a,min(l,a+s.cfg.K))]; m=len(ks); e=0
            while e<m and s.l1.where(ks[e]): e+=1
            if e<m and s.test(m-e,m):
                yield from s.until(s.fleet.now+s.l2.look); e+=s.l2.lead(ks[e:])
            if e==m: continue
            nb=yield from s.l1.ask(m-e)
            s.l1.refused+=m-e-len(nb)
            if not nb: break
            yield from s.until(s.submit(s.down,len(nb)))
            for k,b in zip(ks[e:],nb): yield from s.l1.put(k,b)
    def worker(s,step,_):
        if not step.plan: return
        for r,*_x in step.plan:
            if r not in s.order: s.order.append(r)
        plan={e[0]:e for e in step.plan}
        who=[r for r in s.order if r in plan and plan[r][1]<r.prompt]; R={}
        for r in who:
            _,c,n,_x=plan[r]; R[r]=yield from s.load(r,c,min(n,r.prompt-c))
        dt=0
        for r,(_,c,n,_x) in plan.items():
            x=R.get(r,0); x-=x==n; dt+=n-x
        ctx=sum(c+n for _,c,n,_x in step.plan)
        yield from s.wait(math.ceil(s.cfg.step_ns+s.cfg.token_ns*dt+s.cfg.kv_token_ns*ctx))
        for r in who:
            _,c,n,_x=plan[r]; yield from s.store(r,c,min(n,r.prompt-c),R[r])
    def check(s):
        super().check(); n=sum(map(len,s.l1.q.values()))
        assert s.l1.inuse==n and not s.flight,(s.l1.inuse,n,s.flight); assert s.l1.used()<=s.l1.cap
def simulate(path):
    cfg,reqs=read(path,Cfg); fl=Fleet(cfg,reqs); sh={}
    def mk(no):
        if len(cfg.tiers)<2: return None
        spec=cfg.tiers[1]; key=0 if spec.get("scope")=="cluster" else no
        if key not in sh: sh[key]=L2(cfg,spec,cfg.links_of(spec))
        return sh[key]
    fl.replicas=[Rep(fl,i,mk) for i in range(cfg.replicas)]; fl.run()
    T=[(cfg.tiers[0]["name"],r.l1,sum(map(len,r.l1.q.values()))) for r in fl.replicas]+[(x.name,x,len(x.keys)) for x in sh.values()]
    L=[(nm,l) for r in fl.replicas for nm,l in zip(cfg.link_names_of(cfg.tiers[0]),(r.down,r.up))]+[(nm,l) for x in sh.values() for nm,l in zip(cfg.link_names_of(cfg.tiers[1]),(x.down,x.up))]
    return cfg,reqs,totals(fl,T,L)


if __name__ == "__main__":
    fleet_module.main(simulate)
