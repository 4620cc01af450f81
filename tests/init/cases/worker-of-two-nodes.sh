vllm serve Qwen/Qwen3-235B-A22B --headless --nnodes 2 --node-rank 1 \
  --master-addr <first_node> --attention-backend FLASHINFER \
  --enable-prefix-caching --tensor-parallel-size 8
