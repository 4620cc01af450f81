# the name stands in a file that is not here
vllm serve $(cat /etc/llm/model) --tensor-parallel-size 2 --max-num-seqs 20
