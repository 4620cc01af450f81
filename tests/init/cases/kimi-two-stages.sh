
# ray runs on both nodes

vllm serve /data/nvme/Kimi-K2-Instruct   --quantization fp8   --pipeline-parallel-size 2   --tensor-parallel-size 8   --trust-remote-code   --tokenizer-mode auto   --dtype bfloat16   --kv-cache-dtype fp8   --max-num-seqs 4   --max-model-len 4096   --max-num-batched-tokens 2048   --disable-log-requests   --enable-chunked-prefill
