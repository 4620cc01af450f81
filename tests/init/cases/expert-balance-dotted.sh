vllm serve Qwen/Qwen3-30B-A3B --tensor-parallel-size 2 \
    --enable-eplb --eplb-config.log_balancedness true \
    --eplb-config.num_redundant_experts 4 --eplb-config.step_interval=1500 --eplb-config.window_size 500
