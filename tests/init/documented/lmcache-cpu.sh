# https://github.com/LMCache/LMCache/blob/0c3076e4a112a85f448438670cac76434e97676c/docs/source/getting_started/quickstart/offload_kv_cache.rst
# expect: tiers.0.capacity "5GiB"
# expect: engine.offload_connector "lmcache"
cat > lmcache_config.yaml <<END
chunk_size: 256
local_cpu: true
max_local_cpu_size: 5
END
LMCACHE_CONFIG_FILE=lmcache_config.yaml \
vllm serve \
    Qwen/Qwen3-8B \
    --kv-transfer-config \
    '{"kv_connector":"LMCacheConnectorV1",
      "kv_role":"kv_both"
    }'
