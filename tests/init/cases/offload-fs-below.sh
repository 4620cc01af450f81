vllm serve meta-llama/Llama-3.1-8B-Instruct --kv-transfer-config \
  '{"kv_connector": "OffloadingConnector", "kv_role": "kv_both", "kv_connector_extra_config": {
     "spec_name": "TieringOffloadingSpec", "eviction_policy": "arc", "block_size": 32,
     "cpu_bytes_to_use": 21474836480,
     "secondary_tiers": [{"type": "fs", "root_dir": "/scratch/kv", "n_write_threads": 4, "n_read_threads": 8}]}}'
