# local.sh: controllers of our own beside the bed's, as plain processes, each with a ServiceAccount that the audit log
# tells apart. Sourced by scenarios after lib.sh.

# away: no controller of the bed runs any more
away() {
	kubectl -n $OPERATOR scale deployment celld-operator-controller --replicas=0 > /dev/null
	until_ 40 eval '[ -z "$(kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=controller -o name)" ]'
}
back() {
	kubectl -n $OPERATOR scale deployment celld-operator-controller --replicas=2 > /dev/null
	kubectl -n $OPERATOR rollout status deployment/celld-operator-controller --timeout=60s
}

# identity NAME: a ServiceAccount with the controller's rights; its kubeconfig is in $root/build/e2e/NAME.kubeconfig
identity() {
	local config=$root/build/e2e/$1.kubeconfig
	kubectl -n $OPERATOR create serviceaccount "$1" --dry-run=client -o yaml | kubectl apply -f - > /dev/null
	kubectl create clusterrolebinding "$1" --clusterrole=celld-operator-controller \
		--serviceaccount="$OPERATOR:$1" --dry-run=client -o yaml | kubectl apply -f - > /dev/null
	kubectl -n $OPERATOR create rolebinding "$1" --role=celld-operator-leader \
		--serviceaccount="$OPERATOR:$1" --dry-run=client -o yaml | kubectl apply -f - > /dev/null
	kubectl config view --raw --minify > "$config"
	kubectl --kubeconfig "$config" config unset users > /dev/null
	kubectl --kubeconfig "$config" config set-credentials bed \
		--token="$(kubectl -n $OPERATOR create token "$1" --duration=2h)" > /dev/null
	kubectl --kubeconfig "$config" config set-context --current --user=bed > /dev/null
}

# controller NAME PORT FLAG...: starts one, its health on PORT; its pid is in $controller
controller() {
	local name=$1 port=$2
	shift 2
	"$root/build/$PROFILE/bin/celld-controller" --kubeconfig "$root/build/e2e/$name.kubeconfig" --settle=1s --recheck=1s \
		--state-poll-interval=1s --metrics-bind-address=0 --health-probe-bind-address="127.0.0.1:$port" "$@" \
		2>> "$root/build/e2e/$name.log" &
	controller=$!
}
