"""Synthetic traces in the formats of the published ones, and facts about them by plain counting."""
import json
from datetime import datetime, timedelta

from drawing import Draw, Zipf

TICK_MS = 3000
BLOCK = 512
SHORT = {"separators": (",", ":")}


def lines(rows, **style):
    return "".join(json.dumps(row, **style) + "\n" for row in rows)


def ceil_div(a, b):
    return -(-a // b)


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def counted(chains):
    """Blocks of a trace in a cache without bound: each misses once."""
    references = sum(len(chain) for chain in chains)
    unique = len({block for chain in chains for block in chain})
    return {"references": references, "unique_blocks": unique,
            "infinite_hits": references - unique, "hit_ratio": 1 - unique / references}


# ------------------------------------------------------------------ conversations, 512-token blocks

def conversation():
    """Sessions whose turns send all earlier ones again, three in ten of them behind one of 40
    documents by Zipf; arrivals are binned to ticks of 3 s. Block 0 heads every prompt. Sessions are
    short and many, so that a tenth of them is like all: a thousandth of the blocks holds a
    prompt."""
    draw = Draw("conversation")
    popular = Zipf(40)
    documents = [[("document", d, k) for k in range(draw.between(2, 6))] for d in range(40)]
    turns = []
    for session in range(2000):
        tick, turn = draw.below(1080), 0
        own = [("root",)]
        if draw.uniform() < 0.3:
            own = own + documents[popular.draw(draw)]
        while True:
            fresh = draw.between(3, 7)
            own = own + [("own", session, turn, k) for k in range(fresh)]
            length = len(own) * BLOCK - draw.below(BLOCK)      # the last block may be partial
            turns.append((tick, session, turn, length, 30 + int(draw.exponential(250)), own))
            if turn == 3 or draw.uniform() < 0.65:
                break
            own = own[:length // BLOCK]
            tick, turn = tick + 1 + int(draw.exponential(8)), turn + 1
    turns.sort(key=lambda t: t[:3])
    names, rows = {}, []
    for tick, _, _, length, output, chain in turns:
        ids = [names.setdefault(block, len(names)) for block in chain]
        rows.append({"timestamp": tick * TICK_MS, "input_length": length, "output_length": output,
                     "hash_ids": ids})
    return rows


def conversation_facts(rows):
    times = [row["timestamp"] for row in rows]
    sessions, placed = inferred_sessions(rows)
    return {**counted([row["hash_ids"] for row in rows]), "requests": len(rows),
            "input_tokens": sum(row["input_length"] for row in rows),
            "output_tokens": sum(row["output_length"] for row in rows),
            "distinct_arrival_times": len(set(times)), "span_s": (times[-1] - times[0]) / 1000,
            "first_input": rows[0]["input_length"], "second_output": rows[1]["output_length"],
            "second_chain": rows[1]["hash_ids"],
            "inferred_sessions": sessions, "placed_in_sessions": placed}


def inferred_sessions(rows, window_ms=1_800_000, share=0.01):
    """The rule of traces/reshape/session_inference.hpp, request by request."""
    full = [tuple(row["hash_ids"][:row["input_length"] // BLOCK]) for row in rows]
    inner = {chain[:k] for chain in full for k in range(1, len(chain))}
    prompts = {chain for chain in full if chain and chain not in inner}
    found_in = {}
    for chain in prompts:
        for block in chain:
            found_in[block] = found_in.get(block, 0) + 1
    most = max(2, share * len(prompts))
    common = {block for block, count in found_in.items() if count > most}
    ended, successor, before = {}, set(), {}
    for i, row in enumerate(rows):
        for k in range(len(full[i]), 0, -1):
            there = [j for j in ended.get(full[i][:k], ())
                     if 0 < row["timestamp"] - rows[j]["timestamp"] <= window_ms
                     and row["input_length"] > rows[j]["input_length"]]
            if not there:
                continue
            free = [j for j in there if j not in successor]
            if free:
                before[i] = free[-1]
                successor.add(free[-1])
            break
        if full[i] and full[i][-1] not in common:
            ended.setdefault(full[i], []).append(i)
    return len(rows) - len(before), len(set(before) | successor)


# ------------------------------------------------------------------ retrieval: prompts of segments

RAG_DAY = 86_400


def retrieval():
    """Sessions of one question or two about the same passages, one in ten of them about one of 200
    topics: a system content, the passages, what was said so far, the question. A third of the
    sessions is of a second recording, whose clock starts again. A thousandth of the blocks holds a
    prompt, as a tenth of the trace needs it to be like all of it."""
    draw = Draw("retrieval")
    tokens = {}

    def content(name, low, high):
        return tokens.setdefault(name, (len(tokens), draw.between(low, high)))

    def passages():
        return [content(("passage", number), 200, 500)
                for number in dict.fromkeys(draw.below(4000) for _ in range(2))]

    system = content("system", 100, 100)
    topics = [passages() for _ in range(200)]
    recordings = [], []
    for session in range(2000):
        start, history = draw.below(2 * RAG_DAY), []
        found = draw.pick(topics) if draw.uniform() < 0.1 else passages()
        for turn in range(1 + (session % 5 < 2)):
            question = content(("question", session, turn), 5, 60)
            segments = [system] + found + history + [question]
            recordings[session % 3 == 2].append({
                "timestamp": start + turn * draw.between(20, 120),
                "input_length": sum(n for _, n in segments) + draw.between(6, 12),
                "output_length": draw.between(40, 300), "session_id": f"session-{session:04}",
                "segments": [list(segment) for segment in segments]})
            history = [content(("history", session, turn), 40, 200)]
    return [row for rows in recordings for row in sorted(rows, key=lambda row: row["timestamp"])]


def retrieval_facts(rows):
    known, prefixes, contents = {}, set(), set()
    chains, prefix_tokens, content_tokens, total = [], 0, 0, 0
    latest, reordered = 0, 0
    for number, row in enumerate(rows):
        spans = [tuple(segment) for segment in row["segments"]]
        own = row["input_length"] - sum(n for _, n in spans)
        chains.append(list(blocks_of(spans + [(f"template {number}", own)], known)))
        for k, (name, length) in enumerate(spans):
            total += length
            head = tuple(spans[:k + 1])
            prefix_tokens += length * (head in prefixes)
            content_tokens += length * (name in contents)
            prefixes.add(head)
            contents.add(name)
        reordered += row["timestamp"] < latest
        latest = max(latest, row["timestamp"])
    times = [row["timestamp"] for row in rows]
    return {**counted(chains), "requests": len(rows), "span_s": max(times) - min(times),
            "sessions": len({row["session_id"] for row in rows}),
            "input_tokens": sum(row["input_length"] for row in rows), "reordered": reordered,
            "prefix_percent": f"{100 * prefix_tokens / total:.1f}%",
            "content_percent": f"{100 * content_tokens / total:.1f}%"}


def blocks_of(spans, known, block=16):
    """Names of the blocks of a prompt: equal where all that stands before is equal."""
    name, filled = (), 0
    for content, length in spans:
        begin = 0
        while begin < length:
            end = min(length, begin + block - filled)
            name = known.setdefault((name, content, begin, end), len(known))
            filled, begin = (filled + end - begin) % block, end
            if filled == 0:
                yield name
    if filled:
        yield name


# ------------------------------------------------------------------ agents, 64-token blocks

AGENT_BLOCK = 64


class Agent:
    """One recorded session: requests that each send the last prompt again, and what it answered."""

    def __init__(self, draw, number):
        self.draw, self.number, self.ids, self.requests = draw, number, 0, []
        self.clock = 0.0

    def fresh(self, count):
        self.ids += count
        return list(range(self.ids - count + 1, self.ids + 1))

    def request(self, chain, at, think):
        api = round(2 + self.draw.exponential(4), 2)
        return {"t": at, "type": "n", "model": "synthetic", "in": len(chain) * AGENT_BLOCK
                + self.draw.below(AGENT_BLOCK), "out": self.draw.between(20, 600),
                "hash_ids": list(chain), "input_types": ["text"], "output_types": ["text"],
                "stop": "tool_use", "api_time": api, "think_time": think}

    def turn(self, chain):
        think = round(self.draw.exponential(3), 2) if self.requests else 0.0
        self.clock = round(self.clock + think, 2)
        made = self.request(chain, self.clock, think)
        self.clock = round(self.clock + made["api_time"], 2)
        self.requests.append(made)

    def subagents(self, head, count):
        """`count` of them side by side, each of three requests; the session goes on behind."""
        latest = self.clock
        for k in range(count):
            at, chain, inner = 0.0, head + self.fresh(20), []
            for turn in range(3):
                think = round(self.draw.exponential(1), 2) if turn else 0.0
                at = round(at + think, 2)
                inner.append(self.request(chain, at, think))
                at = round(at + inner[-1]["api_time"], 2)
                chain = chain + self.fresh(self.draw.between(2, 8))
            begin = round(self.clock + 0.25, 2)
            end = round(begin + at, 2)
            latest = max(latest, end)
            self.requests.append({"t": end, "type": "subagent", "agent_id": f"agent_{k + 1:03}",
                                  "duration_ms": round(1000 * at), "status": "completed",
                                  "requests": inner})
        self.clock = latest


def agents():
    draw = Draw("agents")
    sessions = []
    for number in range(14):
        agent = Agent(draw, number)
        chain = agent.fresh(draw.between(140, 180))
        for turn in range(16):
            if turn == 6 and number in (2, 5):
                agent.subagents(chain[:30], 1 if number == 2 else 2)
            agent.turn(chain)
            chain = chain + agent.fresh(draw.between(2, 10))
        if number == 9:
            agent.subagents(chain[:30], 1)                     # nobody waits for it
        if number == 3:
            del agent.requests[5]["api_time"], agent.requests[6]["think_time"]
        sessions.append({"id": f"trace_{number + 1:04}", "models": ["synthetic"],
                         "block_size": AGENT_BLOCK, "hash_id_scope": "local", "tool_tokens": 4096,
                         "system_tokens": 1024, "requests": agent.requests, "totals": {}})
    return sessions


def agents_facts(sessions):
    requests, links, several, pauses, tokens, chains = 0, 0, 0, 0, 0, []
    for number, session in enumerate(sessions):
        beside = 0                     # sub-agents since the request before
        first, ended = True, True      # whether the end of the answer before is recorded
        for entry in session["requests"]:
            of_subagent = entry["type"] == "subagent"
            for k, r in enumerate(entry["requests"] if of_subagent else [entry]):
                requests += 1
                tokens += r["in"]
                chains.append([(number, block) for block in r["hash_ids"]])
                waits = 0 if first else 1 + (0 if of_subagent else beside)
                links += waits
                several += waits > 1
                pauses += not first and (ended or "think_time" in r)
                first, ended = False, "api_time" in r
            beside = beside + 1 if of_subagent else 0
    return {**counted(chains), "requests": requests, "sessions": len(sessions),
            "input_tokens": tokens, "links": links, "several": several, "pauses": pauses}


# ------------------------------------------------------------------ arrivals and lengths alone

def azure():
    draw = Draw("azure")
    at, rows = datetime(2023, 11, 16, 18, 15, 46), []
    for _ in range(400):
        ticks = at.microsecond * 10 + draw.below(10)           # of 100 ns
        rows.append((f"{at:%Y-%m-%d %H:%M:%S}.{ticks:07}", draw.between(10, 4000),
                     draw.between(5, 500)))
        at += timedelta(microseconds=1 + int(draw.exponential(200_000)))
    text = ["TIMESTAMP,ContextTokens,GeneratedTokens"] + [",".join(map(str, r)) for r in rows]
    return "\r\n".join(text), rows                             # the last line has no end


def azure_facts(rows):
    def ticks(text):
        return round((datetime.fromisoformat(text[:19]) - datetime(2023, 11, 16)).total_seconds()
                     ) * 10**7 + int(text[20:])
    start = ticks(rows[0][0])
    return {"requests": len(rows), "span_s": (ticks(rows[-1][0]) - start) / 1e7,
            "first_arrivals_ns": [100 * (ticks(row[0]) - start) for row in rows[:3]],
            "first_inputs": [row[1] for row in rows[:3]],
            "first_outputs": [row[2] for row in rows[:3]]}


def burst():
    draw = Draw("burst")
    rows, at = [], 5
    for i in range(120):
        asked, answered = draw.between(20, 2000), draw.between(5, 600)
        if i % 17 == 11:                                       # a recorded failure
            asked = answered = 0
        rows.append((at, draw.pick(["ChatGPT", "GPT-4"]), asked, answered, asked + answered,
                     draw.pick(["Conversation log", "API log"])))
        at += 1 + int(draw.exponential(90))
    head = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    return head + "".join(",".join(map(str, row)) + "\n" for row in rows), rows


def burst_facts(rows):
    good = [row for row in rows if row[3] > 0]
    return {"rows": len(rows), "failures": len(rows) - len(good), "requests": len(good),
            "span_s": good[-1][0] - good[0][0],
            "first_arrivals_ns": [row[0] * 10**9 for row in good[:3]],
            "first_inputs": [row[2] for row in good[:3]],
            "first_outputs": [row[3] for row in good[:3]]}


RATE_WINDOW_S = 600


def rates():
    """Five clients over a day, one of them by night only; their windows without requests are left
    out, but there is none without any client."""
    draw = Draw("rates")
    rows = []
    for client in range(5):
        base = 2.0 + 1.5 * client
        for window in range(RAG_DAY // RATE_WINDOW_S):
            night = window < 48
            if client == 3 and not night:
                continue
            rate = round(base * (0.5 if night else 1.0) * draw.scatter(0.2), 4)
            shape = round(0.5 + draw.uniform(), 4)
            dist = draw.pick(["Gamma", "Weibull"])
            rows.append((client, window * RATE_WINDOW_S, rate, round(shape ** -0.5, 4), dist, shape,
                         round(1 / rate / shape, 6)))
    head = "client,start_s,rate_rps,cv,dist,param1,param2\n"
    return head + "".join(",".join(map(str, row)) + "\n" for row in rows), rows


def rates_facts(rows):
    totals = {}
    for _, start, rate, *_ in rows:
        totals[start] = totals.get(start, 0) + rate
    by_window = list(totals.values())
    first = rows[0]
    return {"rows": len(rows), "clients": len({row[0] for row in rows}), "window_s": RATE_WINDOW_S,
            "mean_rps": sum(by_window) / len(by_window), "median_rps": median(by_window),
            "min_rps": min(by_window), "max_rps": max(by_window),
            "days": 1,
            "first_start_s": first[1], "first_rate_rps": first[2], "first_cv": first[3],
            "first_gamma": first[4] == "Gamma", "first_shape": first[5], "first_scale": first[6],
            "second_weibull": rows[1][4] == "Weibull"}
