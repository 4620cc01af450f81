# https://github.com/taco-project/FlexKV/blob/15de1ce4c224de307047ddad64afeac6149d39da/docs/vllm_adapter/README_en.md
# options: --gpu H100
# expect: engine.max_num_seqs 128
# expect: engine.tensor_parallel_size 8
export FLEXKV_CONFIG_PATH="./flexkv_config.json"

VLLM_USE_V1=1 python -m vllm.entrypoints.cli.main serve Qwen3/Qwen3-32B \
     --tensor-parallel-size 8 \
     --trust-remote-code \
     --port 30001 \
     --max-num-seqs 128 \
     --max-num-batched-tokens 8192 \
     --max_model_len 8192 \
     --max-seq-len-to-capture 8192 \
     --gpu-memory-utilization 0.8 \
     --enable-chunked-prefill \
     --enable-prefix-caching \
     --kv-transfer-config \
        '{"kv_connector":"FlexKVConnectorV1","kv_role":"kv_both"}'
