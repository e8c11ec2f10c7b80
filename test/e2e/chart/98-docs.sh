# The commands of docs/install.md, upgrade.md and uninstall.md, one after the other, as they stand there (VERSION filled in).
# Needs a bed without the operator.
ns=default
kubectl config set-context --current --namespace=$ns > /dev/null
chart=/tmp/bed-$BED_NAME/chart
bin=$chart/bin
mkdir -p "$bin"
ln -sf "$(realpath "$chart/helm")" "$bin/helm"
mkdir -p "$root/build/dist"
cp "$chart/celld-operator.tgz" "$root/build/dist/celld-operator-1.2.3.tgz"
block() { # PAGE WORDS: the plain block of the page that holds these words
	awk -v words="$2" '/^```/ {if (on) {if (index(text, words)) printf "%s", text; on = 0} else {on = /^```$/; text = ""}; next} on {text = text $0 "\n"}' "$root/docs/$1"
}
run_() { # PAGE WORDS
	local text
	text=$(block "$1" "$2" | sed 's/VERSION/1.2.3/g')
	[ -n "$text" ] || { echo "no block with '$2' in docs/$1"; return 1; }
	(cd "$root" && PATH=$bin:$PATH bash -euxc "$text")
}
ready_() { kubectl -n $OPERATOR wait --for=condition=Available --timeout=60s deployment/celld-operator-webhook deployment/celld-operator-controller; }
definitions() { kubectl get crd -o name | grep -c celld-operator; }
kubectl delete namespace $OPERATOR --ignore-not-found --timeout=60s > /dev/null
kubectl delete crd workerapps.celld-operator.io celldobjectstores.celld-operator.io --ignore-not-found > /dev/null

check "helm install" run_ install.md 'helm install celld-operator build/dist'
check "it is ready" ready_
check "an app can be stored" eval 'app one v0.6.2 | kubectl apply -f -'
check "a certificate and an authority are asked for" run_ install.md 'celld-operator.io/renew=leaf'
check "helm upgrade and rollback" run_ upgrade.md 'helm upgrade'
check "the look before and after" run_ upgrade.md 'rollout status'
check "helm uninstall" run_ uninstall.md 'helm uninstall'
check "the app is still there" kubectl get workerapp one
check "manifests, and kubectl apply" run_ install.md 'make manifests'
check "it is ready" ready_
check "with the value that was set" [ "$(kubectl get validatingwebhookconfiguration celld-operator -o 'jsonpath={.webhooks[0].failurePolicy}')" = Ignore ]
make_() { PATH=$bin:$PATH make -C "$root" "$@"; }
check "make undeploy" make_ undeploy
check "what it says stays" [ "$(definitions)" = 2 ]
check "make deploy" make_ deploy
check "it is ready" ready_
check "make undeploy again" make_ undeploy
check "everything can be removed" run_ uninstall.md 'kubectl delete workerapps --all'
check "and is" [ "$(definitions)" = 0 ]
check "make install" make_ install
check "brings the definitions" [ "$(definitions)" = 2 ]
ports="--health-probe-bind-address=127.0.0.1:18081 --metrics-bind-address=127.0.0.1:18443"
(PATH=$bin:$PATH exec make -C "$root" run RUN_ARGS="$ports --settle=1s --state-poll-interval=2s") > "$chart/run.log" 2>&1 &
runs=$!
check "make run" until_ 60 curl -sf http://127.0.0.1:18081/readyz
app own v0.6.2 | kubectl apply -f - > /dev/null
check "makes a fleet" ready $ns own 60
kill $runs
wait $runs 2> /dev/null
check "and ends" until_ 20 refuted curl -sf http://127.0.0.1:18081/readyz
check "as it should" grep -q 'msg=ending' "$chart/run.log"
