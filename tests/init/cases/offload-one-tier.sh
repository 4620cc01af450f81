vllm serve Qwen/Qwen3-8B --port 8001 \
    --kv-transfer-config '{
      "kv_role": "kv_both",
      "kv_connector": "OffloadingConnector",
      "kv_connector_extra_config": {
        "cpu_bytes_to_use": 6442450944,
        "block_size": 48
      }
    }'
