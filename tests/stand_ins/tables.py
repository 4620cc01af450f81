"""Tables of kernels, copies and served points whose truth is a known law, with 1% of scatter.

The laws are those that models/compute/kernel_forms.hpp names, written again; efficiencies are this
file's own, so that a fit has to find them. Times in seconds unless a name says otherwise.
"""
import math
from dataclasses import dataclass

from drawing import Draw
from traces import ceil_div

SCATTER = 0.01


@dataclass
class Kernels:
    flops: float                # peak, BF16
    memory: float               # bytes per second
    processors: int
    overhead_us: float          # of a product
    flop_efficiency: float
    byte_efficiency: float
    norm: float
    prefill_us: float
    prefill_key_ns: float
    prefill_lead_keys: float
    decode_us: float
    decode_efficiency: float
    decode_sequence_us: float
    mixed_factor: float = 0.4

    def product(self, rows, inputs, outputs, weight_bytes=2, flops=None):
        compute = 2 * rows * inputs * outputs / (self.flop_efficiency * (flops or self.flops))
        moved = inputs * outputs * weight_bytes + rows * (inputs + outputs) * 2
        read = moved / (self.byte_efficiency * self.memory)
        both = (compute ** self.norm + read ** self.norm) ** (1 / self.norm)
        return self.overhead_us * 1e-6 + both

    def prefill(self, chunks, tokens, cached, q_heads):
        waves = math.ceil(chunks * q_heads * ceil_div(tokens, 64) / self.processors)
        keys = cached + tokens / 2 + self.prefill_lead_keys
        return self.prefill_us * 1e-6 + waves * keys * self.prefill_key_ns * 1e-9

    def decode(self, sequences, held, kv_heads, width=128, kv_bytes=2):
        moved = sequences * held * kv_heads * 2 * width * kv_bytes
        read = moved / (self.decode_efficiency * self.memory)
        return math.hypot(self.decode_us * 1e-6, read) + sequences * self.decode_sequence_us * 1e-6


GPUS = {
    "h100_sxm": Kernels(989e12, 3350e9, 132, 3.5, 0.81, 0.87, 3.2, 10, 6.6, 400, 12, 0.80, 0.14),
    "a100_sxm": Kernels(312e12, 2039e9, 108, 5.0, 0.80, 0.78, 2.0, 7, 20, 250, 18, 0.70, 0.20),
    "l40s": Kernels(362e12, 864e9, 142, 1.5, 0.66, 0.80, 2.4, 4, 26, 200, 11, 0.80, 0.12),
}
H100_FP8_FLOPS = 1979e12
RTX_4090 = Kernels(165e12, 1008e9, 128, 1.0, 0.98, 0.90, 2.2, 1, 33, 20, 9, 0.84, 0.02, 0.52)
WIDTHS = (1024, 1536, 2048, 3072, 4096, 5120, 6144, 8192, 12288, 16384, 24576, 32768)
OUTPUTS = WIDTHS + (40960, 65536)
ROWS = (1, 4, 16, 64, 256, 1024, 4096, 8192)
HEADS = ((16, 8), (32, 8), (40, 8), (64, 8), (28, 4), (32, 32))      # of dense models, by group


def table(head, rows):
    return head + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


def ms(draw, seconds):
    return f"{1e3 * seconds * draw.scatter(SCATTER):.6g}"


def us(draw, seconds):
    return f"{1e6 * seconds * draw.scatter(SCATTER):.6g}"


def gemm(gpu):
    k, draw = GPUS[gpu], Draw(f"{gpu} products")
    types = [("bfloat16", 2, k.flops)]
    if gpu == "h100_sxm":
        types.append(("fp8", 1, H100_FP8_FLOPS))
    return table("dtype,m,n,k,latency_ms", (
        (name, m, n, width, ms(draw, k.product(m, width, n, weight, flops)))
        for name, weight, flops in types for m in ROWS for n in OUTPUTS for width in WIDTHS))


ATTENTION = "num_heads,num_key_value_heads,head_dim,kv_cache_dtype,window_size,latency_ms"


def attention_context(gpu):
    k, draw = GPUS[gpu], Draw(f"{gpu} context")
    return table(f"batch_size,isl,{ATTENTION}", (
        (batch, isl, q, kv, 128, "bfloat16", 0, ms(draw, k.prefill(batch, isl, 0, q)))
        for batch in (1, 2, 4) for isl in (16, 64, 256, 512, 1024, 2048, 4096) for q, kv in HEADS))


def attention_generation(gpu):
    k, draw = GPUS[gpu], Draw(f"{gpu} generation")
    return table(f"batch_size,ctx,{ATTENTION}", (
        (batch, ctx, q, kv, 128, "bfloat16", 0, ms(draw, k.decode(batch, ctx + 1, kv)))
        for batch in (1, 8, 32, 128, 256) for ctx in (64, 256, 1024, 4096, 16384, 65536)
        for q, kv in HEADS))


# ------------------------------------------------------------------ one layer of Llama-3.1-8B

HIDDEN, LAYERS, Q_HEADS, KV_HEADS, WIDTH, VOCAB = 4096, 32, 32, 8, 14336, 128256


def layer_products(ranks=1):
    """Name of LLMServingSim, of Vidur, inputs, outputs."""
    q, kv = Q_HEADS * 128 // ranks, KV_HEADS * 128 // ranks
    return (("qkv_proj", "attn_pre_proj", HIDDEN, q + 2 * kv),
            ("o_proj", "attn_post_proj", q, HIDDEN),
            ("gate_up_proj", "mlp_up_proj", HIDDEN, 2 * WIDTH // ranks),
            ("down_proj", "mlp_down_proj", WIDTH // ranks, HIDDEN))


def passes(k, tokens, count):
    """An element-wise operation: a launch, and so many passes over the hidden states."""
    return 1.5e-6 + count * tokens * HIDDEN * 2 / k.memory


TOKENS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
          4096)


def layer_dense():
    draw, rows = Draw("layer dense"), []
    for name, _, inputs, outputs in layer_products():
        rows += [(name, t, us(draw, RTX_4090.product(t, inputs, outputs))) for t in TOKENS]
    for name, count in (("layernorm", 3), ("rotary_emb", 2), ("act_fn", 6), ("embedding", 2),
                        ("final_layernorm", 3)):
        rows += [(name, t, us(draw, passes(RTX_4090, t, count))) for t in TOKENS]
    return table("layer,tokens,time_us", rows)


SEQUENCES = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256)


def layer_per_sequence():
    draw = Draw("layer per sequence")
    rows = [("lm_head", s, us(draw, RTX_4090.product(s, HIDDEN, VOCAB))) for s in SEQUENCES]
    rows += [("sampler", s, us(draw, 20e-6 + s * 1.6e-6)) for s in SEQUENCES]
    return table("layer,sequences,time_us", rows)


def layer_call(chunk, cached, decodes, held):
    k = RTX_4090
    before = k.prefill(1, chunk, cached, Q_HEADS) if chunk else 0
    if decodes == 0:
        return before
    slowdown = max(1, k.mixed_factor * Q_HEADS / KV_HEADS) if chunk else 1
    return before + k.decode(decodes, held + 1, KV_HEADS) * slowdown


def layer_attention():
    draw = Draw("layer attention")
    behind, counts, contexts = (0, 512, 2048, 8192), (1, 4, 16, 64, 128), (128, 512, 2048, 8192)
    calls = [(t, c, 0, 0) for t in TOKENS[4:-2] for c in behind]
    calls += [(0, 0, n, kv) for n in counts + (2, 8, 32) for kv in contexts + (64, 1024, 4096)]
    calls += [(t, c, n, kv) for t in (64, 256, 512, 1024, 2048) for c in behind[:3] for n in counts
              for kv in contexts]
    return table("prefill_chunk,kv_prefill,n_decode,kv_decode,time_us",
                 ((*call, us(draw, layer_call(*call))) for call in calls))


SKEW = 1.04        # calls whose decodes hold unequal contexts take so much longer


def layer_skew():
    draw, rows = Draw("layer skew"), []
    for n in (2, 8, 32, 64):
        for small in (128, 512, 2048):
            for chunk in (0, 512):
                large, mean = 4 * small, 5 * small // 2
                time = layer_call(chunk, 0, n, mean)
                rows.append(("mixed" if chunk else "pure", n, n // 2, 0.5, 4, chunk, 0, small,
                             large, mean, us(draw, time), us(draw, layer_call(chunk, 0, n, large)),
                             us(draw, SKEW * time), 0.1))
    return table("regime,n,nb,ratio,skew,pc,kp,kvs,kv_big,kv_mean,t_mean_us,t_max_us,t_skew_us,"
                 "alpha", rows)


def operations():
    """As Vidur lists them: milliseconds by token count and ranks, which only divide products."""
    k, draw = GPUS["a100_sxm"], Draw("operations")
    order = ("emb", "input_layernorm", "attn_pre_proj", "attn_rope", "attn_post_proj",
             "post_attention_layernorm", "mlp_up_proj", "mlp_act", "mlp_down_proj", "add")
    light = {"emb": 2, "input_layernorm": 3, "attn_rope": 2, "post_attention_layernorm": 3,
             "mlp_act": 6, "add": 3}
    rows = []
    for ranks in (1, 2, 4, 8):
        shapes = {name: shape for _, name, *shape in layer_products(ranks)}
        for tokens in TOKENS:
            rows.append([ranks, tokens] + [
                ms(draw, k.product(tokens, *shapes[name]) if name in shapes
                   else passes(k, tokens, light[name])) for name in order])
    head = "num_tensor_parallel_workers,num_tokens," + ",".join(f"{name}_ms" for name in order)
    return table(head, rows)


# ------------------------------------------------------------------ collectives

def between(x, xs, ys):
    """On the line through the two nearest points, in logarithms; the first holds below."""
    if x <= xs[0]:
        return ys[0]
    i = next(k for k in range(1, len(xs)) if x <= xs[k])
    share = math.log(x / xs[i - 1]) / math.log(xs[i] / xs[i - 1])
    return ys[i - 1] * (ys[i] / ys[i - 1]) ** share


# ------------------------------------------------------------------ copies over the host link

PAGE_KIB = (4, 8, 16, 24, 28, 64)
COPY_COUNTS = (10_000, 50_000, 100_000)
# Two regimes a factor apart, each smooth: slow up to 16 KiB, or up to 24 where copies are many.
COPY_GBS = ((6.0, 6.4, 7.0, 24.0, 26.0, 36.0), (4.2, 5.0, 5.8, 6.4, 38.0, 48.0),
            (4.0, 4.8, 5.7, 6.5, 40.0, 49.0))


def copies():
    rates = {f"n_{count}": list(row) for count, row in zip(COPY_COUNTS, COPY_GBS)}
    return {"schema": "copy-reference/1", "entries": [],
            "cuMemcpyBatchAsync_H100_h2d_gbs": {"page_kib": list(PAGE_KIB), **rates}}


def copies_facts():
    """Where a rate between two neighbours is across a step: they differ by more than a factor 2."""
    sizes = [(row[i - 1], row[i + 1]) for row in COPY_GBS for i in range(1, len(row) - 1)]
    counts = list(zip(COPY_GBS[0], COPY_GBS[2]))
    flagged = sum(max(pair) > 2 * min(pair) for pair in sizes + counts)
    return {"flagged": flagged, "held_out": len(sizes) + len(counts) - flagged}


# ------------------------------------------------------------------ Llama-3.1-70B served by B200s

B200 = Kernels(2250e12, 7672e9, 148, 3.5, 0.60, 0.70, 2.3, 10.2, 3.3, 560, 11.9, 0.81, 0.14)
B200_FP8_FLOPS = 4500e12
LARGE = {"layers": 80, "hidden": 8192, "q_heads": 64, "kv_heads": 8, "width": 28672}
HOST_S, SAMPLED_S, LAUNCH_S = 700e-6, 1.1e-6, 786e-6
BATCHED = 8192
# All-reduces of B200s in us, as models/compute/collective.cpp has them, over KiB.
REDUCE_KIB = (16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072,
              262144)
REDUCE_US = {2: (5.9, 6.0, 6.1, 6.3, 6.8, 7.7, 9.4, 13.0, 20.0, 57.1, 86.84, 155.2, 281.8, 528.9),
             4: (6.0, 6.2, 6.6, 7.2, 8.6, 11.2, 16.5, 27.1, 43.38, 67.18, 123.5, 187.7, 354.5,
                 677.8),
             8: (5.9, 6.3, 7.0, 8.5, 11.8, 16.56, 19.94, 26.05, 38.18, 62.33, 110.7, 223.5, 395.9,
                 714.6)}
CAPTURED, EAGER, EAGER_KIB = 512, 1.16, 8192                   # tokens; without a graph, from there


def reduce_s(kib, ranks, captured=True):
    times = REDUCE_US[ranks]
    time = between(min(kib, REDUCE_KIB[-1]), REDUCE_KIB, times)
    time += max(0, kib - REDUCE_KIB[-1]) * (times[-1] - times[-2]) / (REDUCE_KIB[-1] / 2)
    return (1 if captured or kib < EAGER_KIB else EAGER) * time * 1e-6


def gather_s(kib, ranks):
    floor = REDUCE_US[ranks][0] * 1e-6
    time = floor + (reduce_s(kib, ranks) - floor) / 2
    return (1 if kib < EAGER_KIB else EAGER) * time


def served_step(ranks, decodes, held, prompts):
    """One step: `decodes` sequences that hold `held` tokens together, and whole prompts."""
    m, k = LARGE, B200
    tokens = decodes + sum(prompts)
    q, kv, width = (m[name] / ranks for name in ("q_heads", "kv_heads", "width"))
    shapes = ((m["hidden"], (q + 2 * kv) * 128), (q * 128, m["hidden"]),
              (m["hidden"], 2 * width), (width, m["hidden"]))
    layer = sum(k.product(tokens, *shape, 1, B200_FP8_FLOPS) for shape in shapes)
    # Norms, rotary embedding, new keys and values, activation: five kernels.
    values = 8 * m["hidden"] + 2 * (q + kv) * 128 + 4 * kv * 128 + 3 * width
    layer += 5 * 2e-6 + values * 2 * tokens / k.memory
    decode = k.decode(decodes, held / decodes, kv, 128, 1) if decodes else 0
    if prompts:
        decode *= max(1, k.mixed_factor * q / kv)
        layer += k.prefill_us * 1e-6 * (1 - len(prompts))      # once for all of them
    layer += decode + sum(k.prefill(1, prompt, 0, q) for prompt in prompts)
    sampled, between_ranks = decodes + len(prompts), 0
    if ranks > 1:
        between_ranks = (2 * m["layers"] + 1) * reduce_s(tokens * m["hidden"] * 2 / 1024, ranks,
                                                         tokens <= CAPTURED)
        between_ranks += gather_s(sampled * VOCAB * 2 / 1024, ranks)
    time = HOST_S + m["layers"] * layer + between_ranks + sampled * SAMPLED_S + \
        k.product(sampled, m["hidden"], VOCAB / ranks)
    return time if tokens <= CAPTURED else max(time, HOST_S + m["layers"] * LAUNCH_S)


class ApiServer:
    """When a request that is sent reaches the engine: one loop, then one tokeniser."""

    def __init__(self):
        self.loop = self.tokeniser = 0.0

    def ready(self, sent, prompt):
        self.loop = max(self.loop, sent) + 6e-3
        self.tokeniser = max(self.tokeniser, self.loop) + 1.1e-6 * prompt
        return self.tokeniser + 9.5e-3


def served(draw, ranks, clients, prompt, answer, each=10):
    """Mean TTFT and TPOT of a closed loop, by runs of steps between two events."""
    def drawn(most):
        return draw.between(math.floor(0.8 * most), most)

    server = ApiServer()

    def sent(at):
        tokens = drawn(prompt)
        return at, tokens, drawn(answer), server.ready(at, tokens)

    waiting = [sent(0.0) for _ in range(clients)]
    left, now = (each - 1) * clients, 0.0
    active = []                        # [steps left, held, time of the first token, length]
    ttft, tpot = [], []
    while waiting or active:
        decodes, held = len(active), sum(a[1] for a in active)
        taken, room = [], BATCHED - decodes
        if not active:
            now = max(now, waiting[0][3])
        while waiting and waiting[0][3] <= now and waiting[0][1] <= room:
            taken.append(waiting.pop(0))
            room -= taken[-1][1]
        steps = 1 if taken or waiting else min(a[0] for a in active)
        now += steps * served_step(ranks, decodes, held + decodes * (steps - 1) / 2,
                                   [tokens for _, tokens, _, _ in taken])
        ttft += [now - asked for asked, _, _, _ in taken]
        active += [[length, tokens, now, length] for _, tokens, length, _ in taken]
        for a in active:
            a[0] -= steps
            a[1] += steps
        for a in [a for a in active if a[0] <= 0]:
            active.remove(a)
            tpot.append((now - a[2]) / (a[3] - 1))
            if left:
                left -= 1
                waiting.append(sent(now))
    return sum(ttft) / len(ttft), sum(tpot) / len(tpot)


POINT_COLUMNS = ("silicon_data_source,backend,backend_version,model_path,system,precision,isl,osl,"
                 "gemm_quant_mode,moe_quant_mode,concurrency,tp_size,pp_size,attention_dp_size,"
                 "moe_tp_size,moe_ep_size,silicon_ttft_ms,silicon_tpot_ms")


def serving_points():
    """Fifteen points of each number of GPUs; another server's and a pipeline's besides, to leave
    out."""
    draw, rows = Draw("serving points"), []
    for ranks in (1, 2, 4, 8):
        for prompt, answer in ((1024, 1024), (1024, 4096), (4096, 1024)):
            for clients in (4, 8, 16, 32, 64):
                ttft, tpot = served(draw, ranks, clients, prompt, answer)
                rows.append(("vllm", prompt, answer, clients, ranks, 1, ms(draw, ttft),
                             ms(draw, tpot)))
        rows.append(("trtllm", 1024, 1024, 8, ranks, 1, 100, 5))
        rows.append(("vllm", 1024, 1024, 8, ranks, 2, 100, 5))
    return table(POINT_COLUMNS, (
        ("synthetic", backend, "", "meta-llama/Llama-3.1-70B", "b200_sxm", "fp8", prompt, answer,
         "fp8", "fp8", clients, ranks, stages, 1, ranks, 1, ttft, tpot)
        for backend, prompt, answer, clients, ranks, stages, ttft, tpot in rows))
