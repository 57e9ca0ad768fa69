#!/usr/bin/env bash
# A study on a Slurm allocation: Ray's head on the first node, a worker on each, the driver beside the head.
#   sbatch slurm.sh warmup --scale cluster --store /shared/folklore
# Started again after preemption or a time limit it goes on where it was.
#SBATCH --job-name=folklore
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=12:00:00
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
set -euo pipefail

port=${RAY_PORT:-6379}
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
head=${nodes[0]}
address="$head:$port"

# Whoever reaches Ray's ports may run code; only who holds this job's token is heard.
export RAY_AUTH_MODE=token
RAY_AUTH_TOKEN=${RAY_AUTH_TOKEN:-$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')}
export RAY_AUTH_TOKEN

stop() { kill "${started[@]}" 2>/dev/null || true; }
started=()
trap stop EXIT

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
  ray start --head --node-ip-address="$head" --port="$port" --num-cpus=0 --num-gpus=0 --include-dashboard=false --block &
started+=($!)
sleep "${RAY_START_SECONDS:-15}"
for node in "${nodes[@]}"; do
  srun --nodes=1 --ntasks=1 --nodelist="$node" --overlap ray start --address="$address" --block &
  started+=($!)
done
sleep "${RAY_START_SECONDS:-15}"

folklore run "$@" --address "$address" &
driver=$!
# Slurm's warning before the end: the driver leaves checkpoints and exits.
trap 'kill -TERM "$driver" 2>/dev/null || true' TERM
wait "$driver" || code=$?
wait "$driver" 2>/dev/null || code=$?
exit "${code:-0}"
