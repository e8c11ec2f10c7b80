# Processes, told from later ones of the same number by their start time. Sourced by bed.

started() { # PID: its start time
	local s
	{ s=$(< "/proc/$1/stat"); } 2> /dev/null && [ "$s" ] || return 0
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

wait_for() { # SECONDS PID-FILES CMD...: until CMD succeeds; not longer than all of these components live
	local end=$((SECONDS + $1)) files=$2 f; shift 2
	until ("$@") > /dev/null 2>&1; do
		for f in $files; do alive $(< "$f") || die "${f%.pid} has ended: $(last "${f%.pid}.log")"; done
		((SECONDS < end)) || die "timed out: $*"
		sleep 0.2
	done
}
