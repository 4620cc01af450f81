python -m vllm.entrypoints.openai.api_server \
  --served-model-name desk-vl desk-vl-backup \
  --model /srv/Qwen2.5-VL-7B-Instruct-AWQ \
  --port=7001 --max_num_seqs 12 --enforce-eager \
  --mm-processor-kwargs '{"max_pixels": 1048576}' \
  --limit-mm-per-prompt "image=3,video=0" \
  --gpu_memory_utilization 0.9 --dtype=half --tool-call-parser=hermes \
  --enable-auto-tool-choice --max-model-len 12000
