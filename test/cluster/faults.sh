# What can go wrong, made to order. Sourced by bed, in the bed's namespaces.

target() { # [NAMESPACE/]POD CONTAINER ("-": the pod itself): its record, into $record $id $pid
	local want=$1 pod name start
	[[ $want == */* ]] || want=default/$want
	for record in node-*/run/*; do
		{ read -r pod name pid start < "$record"; } 2> /dev/null || continue
		[ "$pod $name" = "$want $2" ] && { [ "$2" = - ] || alive "$pid" "$start"; } || continue
		id=${record##*/}
		return
	done
	die "pod $want: nothing of it runs$([ "$2" = - ] || echo " as container $2")"
}

signal() { # SIGNAL PID: to every process of the container; several times, for those that are just being born
	local p
	for _ in 1 2 3; do
		for p in /proc/[0-9]*; do
			[ "$p/ns/pid" -ef "/proc/$2/ns/pid" ] && kill -s "$1" "${p#/proc/}" 2> /dev/null || true
		done
	done
}

cut_rules() { # DIRECTION PEER-ADDRESS...: after destination and before source NAT, so a peer's own address counts
	local a way=iifname peer=daddr
	[ "$1" = prerouting ] || way=oifname peer=saddr
	shift
	[ $# -gt 0 ] || echo "$way v$id drop;"
	for a; do echo "$way v$id $([[ $a == *:* ]] && echo ip6 || echo ip) $peer $a drop;"; done
}

fault() { # VERB ARG...
	local record id pid start verb=$1
	shift
	case $verb:$# in
	freeze:2) target "$@"; signal STOP "$pid" ;;
	thaw:2) target "$@"; signal CONT "$pid" ;;
	crash:2) target "$@"; kill -9 "$pid" ;;
	oom:2) target "$@"; touch "$record.oom"; kill -9 "$pid" ;;
	cut:[1-9]*)
		target "$1" -
		shift
		nft -f - <<-X
		table inet cut-$id
		delete table inet cut-$id
		table inet cut-$id {
			chain in { type filter hook prerouting priority dstnat + 10; $(cut_rules prerouting "$@") }
			chain out { type filter hook postrouting priority srcnat - 10; $(cut_rules postrouting "$@") }
		}
		X
		;;
	heal:1) target "$1" -; nft delete table inet "cut-$id" 2> /dev/null || die "pod $1 is not cut" ;;
	node-freeze:1) component "$1"; kill -s STOP "$pid" ;;
	node-thaw:1) component "$1"; kill -s CONT "$pid" ;;
	node-kill:1) stop "$1"; "$B" node --reap --dir "$D/$1"; node_addr del "$1" ;;
	node-start:1) component "$1"; node_addr add "$1"; start "$1" ;;
	stop:1 | start:1) "$verb" "$1" ;;
	apiserver-stop:0) stop kube-apiserver ;;
	apiserver-start:0) start kube-apiserver; wait_for 60 kube-apiserver.pid kubectl get --raw /readyz --request-timeout=2s ;;
	*) usage ;;
	esac
}
