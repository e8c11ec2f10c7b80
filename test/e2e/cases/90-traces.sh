# The model of the StatefulSet controller, on which the rollout is tested exhaustively, agrees with the real one.
check "30 traces of the model replayed" "$root/test/e2e/traces.sh" 30
