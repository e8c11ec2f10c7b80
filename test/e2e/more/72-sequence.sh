# However an app came to its spec, what is there is what a fresh install of that spec gets: random walks over the fields
# (test/e2e/sequence.py). CHANGES (40; `make soak` 500) in WALKS (5) walks side by side, each change with SETTLES (150) seconds
# to end; SEED repeats them.
seed=${SEED:-$RANDOM$RANDOM} log=$root/build/e2e/72-sequence.changes
PYTHONDONTWRITEBYTECODE=1 python3 "$root/test/e2e/sequence.py" "${CHANGES:-40}" "${WALKS:-5}" "$seed" "$POINTERS" > "$log" 2>&1
rc=$?
[ "$rc" = 0 ] || grep -v ': same after' "$log" | tail -n 40
check "every change ends where a fresh install does: $(tail -n 1 "$log")" [ "$rc" = 0 ]
