vllm serve --config serving.yaml --max-num-seqs 24
