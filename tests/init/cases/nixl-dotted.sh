vllm serve Qwen/Qwen3-32B -tp 2 \
  --kv-transfer-config.kv_role kv_producer \
  --kv_transfer_config.kv_connector=NixlConnector \
  --kv-transfer-config.kv_connector_extra_config.backends+ UCX
