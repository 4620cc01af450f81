#!/usr/bin/env bash
# FP4 needs Blackwell
CC=$(nvidia-smi -i 0 --query-gpu=compute_cap --format=csv,noheader)
if [ "$CC" = "10.0" ]; then
    FMT="FP4"
    SETTINGS="blackwell.yaml"
else
    FMT="FP8"
    SETTINGS="hopper.yaml"
fi

vllm serve nvidia/Llama-3.3-70B-Instruct-$FMT --tensor-parallel-size 2 \
  --max-model-len 20480 --config ${SETTINGS} \
  --max-num-seqs 384 > serve.log 2>&1 &
