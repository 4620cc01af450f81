# first node
VLLM_ALL2ALL_BACKEND=deepep_high_throughput \
    vllm serve Qwen/Qwen3-235B-A22B-FP8 \
    --tensor-parallel-size 4 \              # of one engine
    --enable-expert-parallel \              # experts over all of them
    --data-parallel-size 2 \                # engines
    --data-parallel-size-local 1 \          # on this node
    --data-parallel-address 10.8.0.21 \     # the first node's
    --data-parallel-rpc-port 13500 \        # any free one
    --api-server-count=2                    # front ends
