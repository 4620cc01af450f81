# one card
vllm serve openai/gpt-oss-20b --no_enable_prefix_caching \
  --max_num_batched_tokens 4096 --max-num_seqs=72 \
  --max_model_len 65536 \
  --tensor_parallel_size 1
