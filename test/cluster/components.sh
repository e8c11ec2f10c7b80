# The parts of the control plane: certificates, command lines, start and stop. Sourced by bed.

url() { if [[ $1 == *:* ]]; then echo "[$1]"; else echo "$1"; fi; }
join() { local IFS=,; echo "$*"; }

ca() { # NAME
	openssl ecparam -name prime256v1 -genkey -noout -out "pki/$1.key"
	openssl req -x509 -new -key "pki/$1.key" -days 30 -subj "/CN=bed-$1" -out "pki/$1.crt"
}

cert() { # NAME SUBJECT EXTENSIONS [CA]: with a kubeconfig
	openssl ecparam -name prime256v1 -genkey -noout -out "pki/$1.key"
	openssl req -new -key "pki/$1.key" -subj "$2" | openssl x509 -req -CA "pki/${4:-ca}.crt" -CAkey "pki/${4:-ca}.key" \
		-CAcreateserial -days 30 -out "pki/$1.crt" -extfile <(printf '%b' "$3") 2> /dev/null
	cat > "$1.kubeconfig" <<-X
	{apiVersion: v1, kind: Config, current-context: bed, contexts: [{name: bed, context: {cluster: bed, user: bed}}],
	 clusters: [{name: bed, cluster: {server: "https://$(url "$self"):6443", certificate-authority: $D/pki/ca.crt}}],
	 users: [{name: bed, user: {client-certificate: $D/pki/$1.crt, client-key: $D/pki/$1.key}}]}
	X
}

flags() { # COMPONENT: its command line, into $cmd
	local k=$1.kubeconfig i=${1#node-} w
	local pods=$(join ${NET:+$NET.0.0/16} ${NET6:+$NET6::/48})
	local services=$(join ${SVC:+$SVC.0.0/16} ${SVC6:+$SVC6::/112})
	local client=(--kubeconfig="$k" --authentication-kubeconfig="$k" --authorization-kubeconfig="$k" --cert-dir=pki
		--leader-elect=false --kube-api-qps=200 --kube-api-burst=400) # ten times the default
	case $1 in
	etcd) cmd=(--data-dir etcd --log-level warn --unsafe-no-fsync --initial-cluster default=http://127.0.0.1:2380
		--listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379
		--listen-peer-urls http://127.0.0.1:2380 --initial-advertise-peer-urls http://127.0.0.1:2380) ;;
	kube-apiserver) cmd=(--etcd-servers=http://127.0.0.1:2379 --secure-port=6443 --advertise-address="$self"
		--bind-address="$([ "$NET" ] && echo 0.0.0.0 || echo ::)" --service-cluster-ip-range="$services"
		--allow-privileged=true --tls-cert-file=pki/apiserver.crt --tls-private-key-file=pki/apiserver.key
		--client-ca-file=pki/ca.crt --service-account-issuer=https://kubernetes.default.svc
		--service-account-key-file=pki/sa.pub --service-account-signing-key-file=pki/sa.key
		--authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction
		--kubelet-preferred-address-types=InternalIP --kubelet-certificate-authority=pki/ca.crt
		--kubelet-client-certificate=pki/apiserver.crt --kubelet-client-key=pki/apiserver.key
		--requestheader-client-ca-file=pki/front-proxy-ca.crt --requestheader-allowed-names=front-proxy
		--requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group
		--requestheader-extra-headers-prefix=X-Remote-Extra-
		--proxy-client-cert-file=pki/front-proxy.crt --proxy-client-key-file=pki/front-proxy.key
		--audit-policy-file=audit.yaml --audit-log-path=audit.log) ;;
	kube-controller-manager) cmd=("${client[@]}" --use-service-account-credentials --root-ca-file=pki/ca.crt
		--service-account-private-key-file=pki/sa.key --enable-hostpath-provisioner) ;;
	kube-scheduler) cmd=("${client[@]}") ;;
	kube-proxy) cmd=(--kubeconfig="$k" --proxy-mode=nftables --hostname-override=node-1 --conntrack-max-per-core=0
		--conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
		--cluster-cidr="$pods" --nodeport-addresses="$pods") ;;
	coredns) cmd=(-conf Corefile) ;;
	node-*) cmd=(--name "$1" --index "$i" --stride $((NODES < 16 ? 16 : NODES + 1)) --net "$NET" --net6 "$NET6"
		--dns "$dns" --dir "$D/$1" --kubeconfig "$k" --images images.json --cert "pki/$1.crt" --key "pki/$1.key"
		--max-pods "$MAX_PODS" --labels "topology.kubernetes.io/zone=zone-$i,topology.kubernetes.io/region=bed") ;;
	*) die "no component is called $1" ;;
	esac
	for w in $FLAGS; do [[ $w != "$1":* && $w != "${1/#node-*/node}":* ]] || cmd+=("${w#*:}"); done
}

start() { # COMPONENT: in the background, with the flags it always has
	local cmd pid=0 start
	flags "$1"
	{ read -r pid start < "$1.pid"; } 2> /dev/null || true
	! alive "$pid" "${start-}" || return 0
	daemon "$B" "${1/#node-*/node}" "${cmd[@]}" >> "$1.log" 2>&1 < /dev/null &
	echo "$! $(started $!)" > "$1.pid"
}

component() { # COMPONENT: its process, into $pid $start
	[ -e "$1.pid" ] || die "no component is called $1"
	read -r pid start < "$1.pid"
}

stop() { # COMPONENT
	local pid start
	component "$1"
	end "$pid" "$start"
}

node_addr() { # add|del NODE: its addresses; a packet to one that nothing has is lost without a word
	local f
	for f in "${families[@]}"; do
		ip addr "$1" "$(addr "$f" "${2#node-}" 1)" dev bed0 $([ "$f$1" != 6add ] || echo nodad) 2> /dev/null || true
	done
}

start_all() { # in the bed
	local n c ip client=extendedKeyUsage=clientAuth both=extendedKeyUsage=serverAuth,clientAuth
	ip link set lo up
	ip link add bed0 type bridge # without ports and ARP: holds the addresses, swallows what is for nobody
	ip link set bed0 up arp off
	if [ "$NET" ]; then
		echo 1 > /proc/sys/net/ipv4/ip_forward
		ip addr add "$NET.0.1/16" dev bed0
		ip route add "$SVC.0.0/16" dev bed0
	fi
	if [ "$NET6" ]; then
		echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
		echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
		ip addr add "$NET6::1/48" dev bed0 nodad
		ip route add "$SVC6::/112" dev bed0
	fi
	mkdir pki bin
	ln -s "$B" bin/kubectl
	ca ca
	ca front-proxy-ca
	openssl genrsa -out pki/sa.key 2048 2> /dev/null
	openssl rsa -in pki/sa.key -pubout -out pki/sa.pub 2> /dev/null
	cert front-proxy /CN=front-proxy $client front-proxy-ca
	cert apiserver /CN=kube-apiserver \
		"subjectAltName=DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:$api,IP:$self\n$both"
	for c in admin coredns; do cert $c /O=system:masters/CN=$c $client; done
	for c in kube-controller-manager kube-scheduler kube-proxy; do cert $c /CN=system:$c $client; done
	cat > audit.yaml <<-X
	apiVersion: audit.k8s.io/v1
	kind: Policy
	omitStages: [RequestReceived$([ "$READS" ] || echo ", ResponseStarted")]
	rules:
	- {level: None, nonResourceURLs: ["*"]}
	- {level: None, userGroups: ["system:nodes", "system:masters"], verbs: [get, list, watch]}
	$([ "$READS" ] || echo '- {level: None, verbs: [get, list, watch]}')
	$([ "$LEASES" ] || echo '- {level: None, resources: [{group: coordination.k8s.io, resources: [leases]}]}')
	- {level: Metadata}
	X
	start etcd
	start kube-apiserver
	wait_for 60 '*.pid' kubectl get --raw /readyz --request-timeout=2s
	for c in kube-controller-manager kube-scheduler kube-proxy; do start $c; done
	for n in $(seq "$NODES"); do
		ip=$(for f in "${families[@]}"; do echo -n ",IP:$(addr "$f" "$n" 1)"; done)
		cert "node-$n" "/O=system:nodes/CN=system:node:node-$n" "subjectAltName=DNS:node-$n$ip\n$both"
		node_addr add "node-$n"
		start "node-$n"
	done
	cat > Corefile <<-X
	.:53 {
	 bind $self
	 errors
	 kubernetes cluster.local in-addr.arpa ip6.arpa {
	  kubeconfig $D/coredns.kubeconfig bed
	 }
	}
	X
	start coredns
	wait_for 60 '*.pid' kubectl get serviceaccount default
	kubectl apply -f - > /dev/null <<-X
	apiVersion: storage.k8s.io/v1
	kind: StorageClass
	metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
	provisioner: kubernetes.io/host-path
	volumeBindingMode: WaitForFirstConsumer
	allowVolumeExpansion: true
	---
	apiVersion: v1
	kind: Service
	metadata: {name: kube-dns, namespace: kube-system}
	spec: {clusterIP: "$dns", ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53}]}
	---
	apiVersion: discovery.k8s.io/v1
	kind: EndpointSlice
	metadata: {name: kube-dns, namespace: kube-system, labels: {kubernetes.io/service-name: kube-dns}}
	addressType: IPv${families[0]}
	endpoints: [{addresses: ["$self"]}]
	ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]
	X
	wait_for 60 '*.pid' kubectl wait --for=condition=Ready nodes --all --timeout=1s
}
