vllm serve meta-llama/Llama-3.2-1B \
    --lora-modules tax=$HOME/adapters/tax-v2/ legal=/srv/adapters/legal \
    --enable-lora --max-lora-rank 32 --port 8010
