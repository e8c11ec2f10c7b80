# Processes, told from later ones of the same number by their start time. Sourced by bed.

started() { # PID: its start time
	local s
	{ s=$(< "/proc/$1/stat"); } 2> /dev/null || return 0
	set -- ${s##*) }
	echo "${20}"
}
alive() { [ "$1" -gt 1 ] && [ "$(started "$1")" = "$2" ]; } # PID START

end() { # PID START: SIGKILL, and wait for the end
	alive "$@" || return 0
	kill -9 "$1" 2> /dev/null || true
	while alive "$@"; do sleep 0.02; done
}

daemon() { # CMD...: becomes it, with nothing of the caller's but the output
	local fd
	for fd in /proc/self/fd/*; do
		fd=${fd##*/}
		[ "$fd" -le 2 ] || eval "exec $fd>&-"
	done
	exec setsid env --default-signal "$@"
}

wait_for() { # SECONDS COMPONENT CMD...: until CMD succeeds; not longer than the component lives
	local end=$((SECONDS + $1)) component=$2; shift 2
	until ("$@") > /dev/null 2>&1; do
		[ "$component" = - ] || alive $(< "$component.pid") || die "$component has ended: $(last "$component.log")"
		((SECONDS < end)) || die "timed out: $*"
		sleep 0.2
	done
}
