export VLLM_USE_FLASHINFER_MXFP4_MOE=1
export NCCL_DEBUG=WARN

vllm serve openai/gpt-oss-120b -cc.pass_config.fuse_norm_quant=True --block-size=64 -cc.cudagraph_mode=FULL_AND_PIECEWISE --tensor-parallel-size=2 --gpu-memory-utilization 0.9 --attention-backend FLASH_ATTN
