MODEL=Qwen/Qwen3-14B
# node 0, 172.16.4.10
vllm serve $MODEL --data-parallel-size 2 --data-parallel-size-local 1 \
   --data-parallel-address 172.16.4.10 --data-parallel-rpc-port 13900
# node 1
vllm serve $MODEL --headless --data-parallel-start-rank 1 --data-parallel-size-local 1 \
   --data-parallel-size 2 --data-parallel-address 172.16.4.10 --data-parallel-rpc-port 13900
