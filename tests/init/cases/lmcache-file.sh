LMCACHE_CONFIG_FILE=/etc/lmcache/cpu.yaml \
vllm serve \
    Qwen/Qwen3-14B \
    --kv-transfer-config \
    '{"kv_role":"kv_both",
      "kv_connector":"LMCacheConnectorV1"
    }' --enable-prefix-caching
