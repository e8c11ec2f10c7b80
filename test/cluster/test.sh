#!/bin/bash
# Tests of the test bed itself: what others build on, and that nothing is left of it. Needs root; about a minute.
# The last line is "N passed, N failed"; the exit status is 0 when none failed.
set -uo pipefail
here=$(cd "$(dirname "$(realpath -e "$0")")" && pwd)
one=bedtest-$$ two=bedtest-$$-b
export BED_NAME=$one
passed=0 failed=0
work=$(mktemp -d)
chmod 755 "$work"

bed() { "$here/bed" "$@"; }
k() { bed kubectl "$@"; }
clean() { for n in $one $two; do BED_NAME=$n bed down; done; rm -rf "$work"; }
trap clean EXIT
trap 'exit 130' INT TERM HUP

check() { # NAME CMD...: passes when CMD does
	local name=$1 out; shift
	if out=$("$@" 2>&1); then
		passed=$((passed + 1))
		echo "ok      $name"
	else
		failed=$((failed + 1))
		echo "FAILED  $name"
		[ -z "$out" ] || sed 's/^/        /' <<< "$out"
	fi
}
not() { ! "$@"; }
within() { # SECONDS CMD...: CMD succeeds before that; what the last attempt says is shown
	local end=$((SECONDS + $1)); shift
	until "$@" > /dev/null 2>&1; do ((SECONDS < end)) || { "$@"; return; }; sleep 0.3; done
}
is() { # WANT CMD...: CMD prints exactly that
	local want=$1 got; shift
	got=$("$@") || return
	[ "$got" = "$want" ] || { echo "want: $want"; echo "got:  $got"; return 1; }
}
fails_with() { # TEXT CMD...: CMD fails, and one line with that text is all it says
	local text=$1 out; shift
	! out=$("$@" 2>&1) || { echo "did not fail: $out"; return 1; }
	[[ $out == *"$text"* && $out != *$'\n'* ]] || { echo "said: $out"; return 1; }
}

pod() { k get pod "$1" -o "jsonpath=$2"; }
ready() { [ "$(pod "$1" '{.status.conditions[?(@.type=="Ready")].status}')" = "$2" ]; }
container() { pod "$1" "{.status.containerStatuses[?(@.name==\"$2\")]$3}"; }
container_is() { [ "$(container "$1" "$2" "$3")" = "$4" ]; }
reaches() { k exec web-0 -c tool -- timeout 2 bash -c "< /dev/tcp/$1/8080" 2> /dev/null; }

# What a bed consists of: its processes, and every namespace that one of them is in.
traces() { # NAME: into $work/NAME.pids and .ns
	local anchor start
	read -r anchor start < "/tmp/bed-$1/anchor"
	for p in /proc/[0-9]*; do
		{ s=$(< "$p/stat"); } 2> /dev/null || continue
		set -- "$1" ${s##*) }
		echo "${p#/proc/} $3 ${21}"
	done | awk -v root="$anchor" '{up[$1] = $2; start[$1] = $3}
		END {for (p in up) for (q = p; q in up; q = up[q]) if (q == root) {print p, start[p]; break}}' > "$work/$1.pids"
	while read -r p _; do
		for n in net mnt pid uts ipc; do readlink "/proc/$p/ns/$n" 2> /dev/null || true; done
	done < "$work/$1.pids" | sort -u > "$work/$1.all"
	for n in net mnt pid uts ipc; do readlink "/proc/self/ns/$n"; done | sort | comm -13 - "$work/$1.all" > "$work/$1.ns"
}
left_of() { # NAME: what there still is of it
	local p start s
	while read -r p start; do
		{ s=$(< "/proc/$p/stat"); } 2> /dev/null || continue
		set -- "$1" ${s##*) }
		[ "${21}" != "$start" ] || echo "process $p"
	done < "$work/$1.pids"
	readlink /proc/[0-9]*/ns/* 2> /dev/null | sort -u | grep -Fxf "$work/$1.ns"
	echo "bed-$1/" > "$work/pattern"
	grep -hFf "$work/pattern" /proc/[0-9]*/mountinfo 2> /dev/null
	grep -laFf "$work/pattern" /proc/[0-9]*/cmdline 2> /dev/null
	grep -laF "BED_INSIDE=$1" /proc/[0-9]*/environ 2> /dev/null
	ls -d "/tmp/bed-$1" 2> /dev/null
	ip -o link | grep -o 'bed0'
	true
}
gone() { # NAME: no process, namespace, mount or file of it
	[ "$(wc -l < "$work/$1.ns")" -ge 5 ] || { echo 'no namespaces were seen'; return 1; }
	within 10 is '' left_of "$1"
}

# --- up, with nothing a CI lacks -------------------------------------------------------------------
export CONTROLPLANE=${CONTROLPLANE:-$("$here/build")}
[ -n "$CONTROLPLANE" ] || { echo "0 passed, 1 failed"; exit 1; }
ln "$CONTROLPLANE" "$work/controlplane" 2> /dev/null || cp "$CONTROLPLANE" "$work/controlplane"
CONTROLPLANE=$work/controlplane # below /tmp, where the pods have a volume
check 'up without terminal, input and HOME' env -u HOME setsid "$here/bed" up --nodes 2 <&-
(BED_NAME=$two BED_NET=10.99 BED_AUDIT_LEASES=1 bed up --nodes 1 > "$work/two.log" 2>&1) & second=$!
k apply -f - > /dev/null <<'Y'
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}
      containers:
      - name: web
        image: web:v1
        volumeMounts: [{name: data, mountPath: /data}, {name: tmp, mountPath: /tmp}]
        securityContext: {readOnlyRootFilesystem: true, runAsUser: 10001}
        readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1, failureThreshold: 1}
      - name: tool
        image: shell:v1
        command: [/bin/sh, -c, "touch /tmp/well; while :; do sleep 1; done"]
        securityContext: {runAsUser: 10001, runAsNonRoot: true}
        readinessProbe: {exec: {command: [test, -e, /tmp/well]}, periodSeconds: 1, failureThreshold: 1}
      volumes: [{name: tmp, emptyDir: {}}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
Y
check 'a StatefulSet of 2 is Ready' within 60 k wait --for=jsonpath='{.status.readyReplicas}'=2 sts/web --timeout=1s
check 'status names every part' eval 'bed status | grep -c " runs, pid " | grep -x 8'
check 'one pod on each node' eval 'k get pods -o wide | grep -c "node-[12]" | grep -x 2'
check 'kubectl exec: user, output' is 10001 k exec web-0 -c tool -- id -u
check 'kubectl exec: exit status, stdin' eval 'echo 7 | k exec -i web-0 -c tool -- sh -c "read n; exit \$n" 2> /dev/null; [ $? = 7 ]'
check 'a Service by its name' within 60 eval 'k exec web-0 -c tool -- timeout 2 bash -c "exec 3<> /dev/tcp/web.default.svc/80
	printf \"GET / HTTP/1.0\r\n\r\n\" >&3; cat <&3" | grep -E "^web-[01] web:v1"'

# --- faults ----------------------------------------------------------------------------------------
k exec web-0 -c tool -- rm /tmp/well
check 'exec probe: not Ready' within 60 ready web-0 False
k exec web-0 -c tool -- touch /tmp/well
check 'exec probe: Ready again' within 60 ready web-0 True

bed freeze web-1 web
check 'freeze: not Ready' within 60 ready web-1 False
bed thaw web-1 web
check 'thaw: Ready again' within 60 ready web-1 True
check 'freeze and thaw are no restart' is 0 container web-1 web .restartCount

ip0=$(pod web-0 '{.status.podIP}') ip1=$(pod web-1 '{.status.podIP}')
check 'pods reach each other' within 60 reaches "$ip1"
bed cut web-1 "$ip0"
check 'cut from a peer: that one does not reach it' not reaches "$ip1"
check 'cut from a peer: the node does' within 60 ready web-1 True
bed cut web-1
check 'cut: not Ready' within 60 ready web-1 False
bed heal web-1
check 'heal: Ready again' within 60 ready web-1 True
check 'heal: the peer reaches it' within 60 reaches "$ip1"
check 'heal of what is not cut' fails_with 'is not cut' bed heal web-1

bed crash web-0 web
check 'crash: the container starts again' within 60 container_is web-0 web .restartCount 1
check 'crash: Error 137' is 'Error 137' container web-0 web '.lastState.terminated.reason} {.status.containerStatuses[?(@.name=="web")].lastState.terminated.exitCode'
bed oom web-1 tool
check 'oom: OOMKilled' within 60 container_is web-1 tool .lastState.terminated.reason OOMKilled
check 'a fault needs a pod that is there' fails_with 'nothing of it runs' bed freeze web-9 web

bed images refuse web:v2
k set image sts/web web=web:v2 > /dev/null
check 'a refused image: ErrImagePull' within 60 eval 'container web-1 web .state.waiting.reason | grep -E "ErrImagePull|ImagePullBackOff"'
check 'a refused image: the other pod stays' within 60 ready web-0 True
bed images allow web:v2
k delete pod web-1 --wait=false > /dev/null
check 'allowed again: rolled out' within 60 k rollout status sts/web --timeout=1s
bed images add --as web: --env 'IMAGE=web:as-${TAG}' example.org/web@sha256:
k run digest --image=example.org/web@sha256:$(printf %064d 7) > /dev/null
check 'an image by digest, as another one' within 60 ready digest True
check 'an added image has its environment' is "web:as-example.org/web@sha256:$(printf %064d 7)" k exec digest -- printenv IMAGE
bed images add talk: /bin/sh -c 'echo "$*"; sleep 1000' -- 'two  words'
k run talk --image=talk:v1 > /dev/null
check 'an added image has its command' within 60 is 'two  words' k logs talk
check 'images lists them' eval 'bed images | grep -x "talk:	/bin/sh -c echo \"\$\*\"; sleep 1000 -- two  words"'

# --- audit log -------------------------------------------------------------------------------------
audit() { jq -r "select($1) | \"\(.user.username) \(.verb) \(.objectRef.resource) \(.objectRef.name)\"" "/tmp/bed-$BED_NAME/audit.log" | sort -u; }
k create configmap seen > /dev/null
k --as=system:serviceaccount:default:somebody create configmap refused > /dev/null 2>&1
check 'audit: a write with its user' is 'admin create configmaps seen' audit '.objectRef.resource == "configmaps" and .objectRef.name == "seen"'
check 'audit: a refused write, with whom it was made for' is 'system:serviceaccount:default:somebody 403' \
	jq -r 'select(.impersonatedUser and .verb == "create") | "\(.impersonatedUser.username) \(.responseStatus.code)"' "/tmp/bed-$one/audit.log"
check 'audit: no reads, no leases' is '' audit '.verb == "get" or .verb == "list" or .verb == "watch" or .objectRef.resource == "leases"'

# --- nodes and components --------------------------------------------------------------------------
node=$(pod web-1 '{.spec.nodeName}') ip1=$(pod web-1 '{.status.podIP}')
check 'before node-kill: its pod answers' within 60 reaches "$ip1"
bed node-kill "$node"
check 'node-kill: its pod is silent' not reaches "$ip1"
check 'node-kill: the kubelet is gone' eval 'bed status | grep "^$node *does not run"'
bed node-start "$node"
bed stop kube-scheduler
check 'stop: a component is gone' eval 'bed status | grep "^kube-scheduler *does not run"'
bed start kube-scheduler
check 'start: it is back' eval 'bed status | grep "^kube-scheduler *runs"'
bed apiserver-stop
check 'apiserver-stop: nobody answers' not k get --raw /readyz
bed apiserver-start
check 'apiserver-start: ready' is ok k get --raw /readyz
check 'all pods are Ready again' within 60 k wait --for=condition=Ready pods -l app=web --timeout=1s

# --- a second bed, and ends ------------------------------------------------------------------------
wait $second
check 'a second bed beside it' is 10.99.0.1 env BED_NAME=$two "$here/bed" kubectl get endpoints kubernetes -o 'jsonpath={.subsets[0].addresses[0].ip}'
check 'audit: leases when asked for' eval 'BED_NAME=$two audit ".objectRef.resource == \"leases\"" | grep "^system:node:node-1 .* leases node-1"'
traces $two
kill -9 "$(cut -d' ' -f1 /tmp/bed-$two/anchor)"
BED_NAME=$two bed down
check 'down after kill -9 of the bed: nothing is left' gone $two
check 'what is not up says so' fails_with 'is not up' env BED_NAME=$two "$here/bed" kubectl get nodes
check 'the first one does not notice' is ok k get --raw /readyz

interrupted() { # SIGNAL: of an `up` whose etcd already runs
	BED_NAME=$two setsid env --default-signal "$here/bed" up --nodes 1 > "$work/up.log" 2>&1 & local pid=$!
	within 60 [ -e /tmp/bed-$two/etcd.pid ] && traces $two || return
	if [ "$1" = INT ]; then kill -s INT -- "-$pid"; else kill -s "$1" "$pid"; fi # a terminal tells the whole group
	wait $pid
	[ "$1" = KILL ] || within 30 [ ! -e /tmp/bed-$two ] || { echo 'up cleans up itself'; return 1; }
	BED_NAME=$two bed down
	gone $two
}
check 'down after kill -9 of up: nothing is left' interrupted KILL
check 'up after Ctrl-C: nothing is left' interrupted INT
check 'up after TERM: nothing is left' interrupted TERM
check 'a failed up: one line, with the place of the logs' fails_with "(logs: /tmp/bed-$two" \
	env BED_NAME=$two BED_FLAGS=etcd:--no-such-flag "$here/bed" up --nodes 1
check 'an unknown program' fails_with 'is not a program' env BED_NAME=$two CONTROLPLANE=/nonexistent "$here/bed" up
traces $one
bed down
check 'down: nothing is left' gone $one
check 'down of what is not there' bed down

echo "$passed passed, $failed failed"
[ $failed = 0 ]
