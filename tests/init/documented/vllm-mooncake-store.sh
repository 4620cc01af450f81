# https://github.com/vllm-project/vllm/blob/01529cf1294f2aaf6f1d01ebcf6b7cf9da7c0103/docs/features/mooncake_store_connector_usage.md
# expect: model.name "meta-llama/Meta-Llama-3.1-8B"
MOONCAKE_CONFIG_PATH=mooncake_config.json \
vllm serve meta-llama/Llama-3.1-8B-Instruct \
    --kv-transfer-config '{"kv_connector":"MooncakeStoreConnector","kv_role":"kv_both"}'
