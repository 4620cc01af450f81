podman run -it --rm \
--security-opt=label=disable --device nvidia.com/gpu=all \
--userns=keep-id:uid=1001 --shm-size=8GB -p 8443:8000 \
--env "HF_HUB_OFFLINE=1" --env "HUGGING_FACE_HUB_TOKEN=$HF_TOKEN" \
-v ./cache:/opt/app-root/src/.cache \
registry.redhat.io/rhaiis/vllm-cuda-rhel9:3.2.1 \
--model RedHatAI/Qwen3-8B-FP8-dynamic --max-num-seqs 56
