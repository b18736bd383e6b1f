#!/bin/sh
#SBATCH --job-name=qkv-study
#SBATCH --cpus-per-task=1
# study_slurm.sh STUDY [PARTS [OUT]] - a study as an array of Slurm jobs, each of which trains its part,
# and one more that merges them into OUT (runs/slurm) when all are done. Run it on the login node; it
# submits itself. OUT and the program must be where all nodes see them.
#
# QKV is the program; without it, qkv of the PATH. An array that was cut off may be submitted again:
# what is finished is not trained twice.
set -eu
if [ -n "${STUDY:-}" ] && [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then # one of the array
    i=$SLURM_ARRAY_TASK_ID
    exec "$QKV" study "$STUDY" --part "$i/$PARTS" --jobs 1 --quiet --out "$OUT/part-$i"
fi
if [ -n "${STUDY:-}" ] && [ -n "${SLURM_JOB_ID:-}" ]; then # the last one
    set -- "$STUDY"
    for part in $(seq "$PARTS"); do set -- "$@" "$OUT/part-$part"; done
    exec "$QKV" study --merge --out "$OUT" "$@"
fi
STUDY=${1:?usage: study_slurm.sh STUDY [PARTS [OUT]]}
PARTS=${2:-8}
OUT=${3:-runs/slurm}
QKV=${QKV:-qkv}
export STUDY PARTS OUT QKV
mkdir -p "$OUT"
array=$(sbatch --parsable --array="1-$PARTS" --output="$OUT/part-%a.log" "$0")
sbatch --parsable --dependency="afterok:$array" --kill-on-invalid-dep=yes --output="$OUT/study.log" "$0"
