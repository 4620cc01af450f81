# https://github.com/NVIDIA/TensorRT-LLM/blob/0434755f93ec108e3e99aa1eef28141f4ef1a8f6/docs/source/commands/trtllm-serve/trtllm-serve.rst
# options: --model Qwen2.5-7B
# expect: engine.enable_block_reuse false
cat >./config.yml<<EOF
kv_cache_config:
    enable_block_reuse: false
EOF
trtllm-serve Qwen/Qwen2-VL-7B-Instruct \
    --config ./config.yml
