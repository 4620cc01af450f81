CUDA_VISIBLE_DEVICES=2 python -m vllm.entrypoints.api_server --dtype="half" --model="/srv/weights/Qwen2.5-7B-Instruct/" --trust-remote-code --tensor-parallel-size=1
