vllm serve /models/Qwen3-0.6B --kv_transfer_config '{"kv_role":"kv_both","kv_connector":"OffloadingConnector","kv_connector_extra_config":{"block_size":64,"num_cpu_blocks":600}}'
