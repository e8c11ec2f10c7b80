#!/bin/bash
# mutate.sh: breaks one rule of controller/rollout.c after the other and expects a rollout test to notice each.
# Needs the tests' objects (make check builds them). JOBS mutants at a time; prints who noticed.
set -euo pipefail
cd "$(dirname "$0")/../.."
B=build/${PROFILE:-debug}
JOBS=${JOBS:-2}
tests=(states liveness walks) # the quickest to notice comes first
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# WHAT IS BROKEN | sed expression
mutations() {
	cat <<-'X'
	paused is ignored|s/obs->deleting \|\| obs->paused \|\| obs->refused/obs->deleting || obs->refused/
	a refusal is ignored|s/obs->deleting \|\| obs->paused \|\| obs->refused/obs->deleting || obs->paused/
	deletion is ignored|s/obs->deleting \|\| obs->paused/obs->paused/
	refused before paused|s/d.phase = obs->paused\t *\? ROLLOUT_PAUSED/d.phase = obs->paused \&\& !obs->refused ? ROLLOUT_PAUSED/
	no_workload is ignored|s/else if \(obs->no_workload\)/else if (false)/
	pods of an earlier fleet are ignored|s/else if \(leftovers\(obs\) > 0\)/else if (false)/
	what leaves is written to|s/else if \(obs->leaving\)/else if (false)/
	created released|s/(ROLLOUT_WRITE_CREATE, obs->start, )ROLLOUT_REST/\10/
	observedGeneration is ignored|s/if \(!o->observed\)/if (false)/
	an old list of pods will do|s/if \(!o->pods_current\)/if (false)/
	a remembered size is forgotten|s/(else )?if \(o->remembered >= 0\)(\n\t\trecreate)/\1if (false)\2/
	a due template waits for the roll|s/o->template_due \|\| \(o->partition == ROLLOUT_REST && stale\(o\)\)/o->partition == ROLLOUT_REST \&\& (o->template_due || stale(o))/
	a foreign template is left alone|s/o->template_due \|\| \(o->partition == ROLLOUT_REST && stale\(o\)\)/o->template_due/
	a roll freezes itself again and again|s/\(o->partition == ROLLOUT_REST && stale\(o\)\)/stale(o)/
	stopped fleets stay stopped|s/else if \(o->replicas == 0\)\n/else if (false)\n/
	Recreate rolls|s/if \(o->stop_all\)/if (false)/
	every change recreates|s/if \(o->stop_all\)/if (true)/
	frozen one too low|s/(ROLLOUT_WRITE_FREEZE, o->replicas, o->replicas)/\1 - 1/
	not frozen at all|s/(ROLLOUT_WRITE_FREEZE, o->replicas, )o->replicas/\10/
	frozen at another size|s/ROLLOUT_WRITE_FREEZE, o->replicas,/ROLLOUT_WRITE_FREEZE, o->start,/
	two pods a step|s/partition - 1\);/partition - (partition > 1 ? 2 : 1));/
	no gate before a step|s/!gates_hold\(o, o->replicas, partition, partition < o->replicas, d\)/true/
	no gate 1|s/if \(members_hold\(o, size, partition, d\)\)/if (false)/
	no gate 2|s/return cells_hold\(o, d\);/return false;/
	no settling|s/if \(settle && \(o->quiet < o->settle \|\| !o->swept\)\)/if (false)/
	the first step settles too|s/if \(settle && \(o->quiet/if ((o->quiet/
	the sweep is news while it settles|s/\(o->quiet < o->settle \|\| !o->swept\)/o->quiet < o->settle/
	an old sweep will do|s/if \(!o->swept\)/if (false)/
	restoring cells are ignored|s/if \(restoring > 0\)/if (false)/
	the last pod's restoring counts|s/restoring \+= p->restoring/restoring = p->restoring/
	a silent pod is ignored|s/if \(!p->ready\)(\n\t*break; \/\* it holds)/if (true)\1/
	a silent pod that is not Ready holds|s/if \(!p->ready\)(\n\t*break; \/\* it holds)/if (false)\1/
	a pod that was not asked is ignored|s/case ROLLOUT_STATE_UNKNOWN:\n/case ROLLOUT_STATE_UNKNOWN:\n\t\t\tcontinue;\n/
	a missing pod is no reason|s/if \(!p->exists\)\n\t\treturn p->fault.*: ROLLOUT_STUCK;\n\tif \(p->term/if (!p->exists)\n\t\treturn ROLLOUT_NOTHING;\n\tif (p->term/
	a terminating pod counts as up|s/if \(p->terminating\)\n/if (false)\n/
	a pod that is not Ready counts as up|s/if \(!p->ready\)\n\t\treturn/if (false)\n\t\treturn/
	the old revision will do|s/if \(p->exists && !p->terminating && !p->updated\)\n\t\treturn ROLLOUT_OLD/if (false)\n\t\treturn ROLLOUT_OLD/
	minReadySeconds is ignored|s/why == ROLLOUT_NOTHING && !p->available/false/
	released pods are forgiven|s/why = released_lacks\(p\)/why = forgiven(o, i, \&view) ? ROLLOUT_NOTHING : released_lacks(p)/
	nobody is forgiven|s/forgiven\(o, i, &view\) \? ROLLOUT_NOTHING : //
	everybody is forgiven|s/forgiven\(o, i, &view\) \? ROLLOUT_NOTHING : lacking\(p\)/ROLLOUT_NOTHING/
	a fleet that is down waits|s/if \(!v->some_ready\)/if (false)/
	a pod on the new template is forgiven|s/if \(p->exists && p->updated\)/if (false)/
	a curable fault holds|s/if \(rollout_curable\(p->fault\)\)/if (false)/
	any fault is curable|s/if \(rollout_curable\(p->fault\)\)/if (p->fault != ROLLOUT_FAULT_NONE)/
	a lost node is waited out|s/if \(p->fault != ROLLOUT_FAULT_NONE \|\| /if (/
	a missing pod is waited out|s/ \|\| !p->exists \|\| p->terminating\)/ || p->terminating)/
	a terminating pod is waited out|s/ \|\| !p->exists \|\| p->terminating\)/ || !p->exists)/
	abandoned pods are forgiven at once|s/if \(p->superseded && i == v->target\)/if (p->superseded)/
	the next pod waits for patience|s/if \(p->superseded && i == v->target\)/if (false)/
	no patience|s/return o->quiet >= ROLLOUT_PATIENCE_MS && /return /
	patience with abandoned pods only|s/\(p->superseded \|\| !v->current_works\)/p->superseded/
	patience with every pod|s/ && \(p->superseded \|\| !v->current_works\)//
	surplus pods are ignored|s/p->exists && i >= o->replicas \? ROLLOUT_TERMINATING/false ? ROLLOUT_TERMINATING/
	the pod that goes holds itself|s/if \(i >= size\)/if (i >= o->replicas)/
	pods may be left at the start|s/if \(left > 0\)/if (false)/
	no lease hold|s/else if \(o->empty < o->hold\)/else if (false)/
	the template comes with the size|s/else if \(o->template_due\) \{/else if (false) {/
	the size before the revision|s/else if \(!o->settled\) \{/else if (false) {/
	the size is forgotten with the template|s/d->remember = o->remembered;/;/
	the size is not remembered|s/d->remember = remember;/;/
	started at the old partition|s/(ROLLOUT_WRITE_START, size, )0/\1o->partition/
	started at another size|s/start_when_empty\(o, o->remembered, d\)/start_when_empty(o, o->start, d)/
	two at once are scaled in|s/int size = o->replicas - 1;/int size = o->replicas > 1 ? o->replicas - 2 : 0;/
	no gate before a scale-in|s/if \(gates_hold\(o, size, partition, true, d\)\)/if (false)/
	scale-in does not settle|s/gates_hold\(o, size, partition, true, d\)/gates_hold(o, size, partition, false, d)/
	scale-in releases|s/int keep = [^;]*;/int keep = partition == ROLLOUT_REST ? partition : 0;/
	scale-out is ignored at rest|s/if \(o->want > o->replicas\) \{\n\t\tgrow\(o, ROLLOUT_REST/if (false) {\n\t\tgrow(o, ROLLOUT_REST/
	scale-out ends the roll|s/grow\(o, partition, d\)/grow(o, ROLLOUT_REST, d)/
	autoscaled fleets are scaled in|s/o->want >= 0 && o->want < o->replicas/o->want < o->replicas/g
	at rest too early|s/if \(members_hold\(o, o->replicas, 0, d\)\)\n\t\treturn;/;/
	at rest before the revision|s/if \(!o->settled\) \{\n\t\twait_for\(d, ROLLOUT_REVISION, -1, 0\);\n\t\treturn/if (false) {\n\t\twait_for(d, ROLLOUT_REVISION, -1, 0);\n\t\treturn/
	a roll of nobody goes through its gates|s/o->settled && !stale\(o\)/false/
	a roll ends while pods are old|s/o->settled && !stale\(o\)/o->settled/
	a roll ends before its controller says so|s/o->settled && !stale\(o\)/!stale(o)/
	never at rest|s/(ROLLOUT_WRITE_REST, o->replicas, )ROLLOUT_REST/\10/
	Ready whatever the members|s/else if \(!members_hold\(o, o->replicas, 0, d\)\)/else/
	a foreign partition is not clamped|s/o->partition < o->replicas \? o->partition : o->replicas/o->partition/
	an autoscaler is ignored|s/if \(obs->autoscaler && /if (false \&\& /
	an autoscaler holds rest|s/case ROLLOUT_WRITE_REST:\n\t\treturn false/return false;\n\tcase ROLLOUT_WRITE_REST:\n\t\treturn true/
	an autoscaler holds steps alone|s/case ROLLOUT_WRITE_FREEZE:\n\tcase ROLLOUT_WRITE_STEP:\n\tcase ROLLOUT_WRITE_SCALE:/case ROLLOUT_WRITE_FREEZE:\n\tcase ROLLOUT_WRITE_SCALE:\n\t\treturn false;\n\tcase ROLLOUT_WRITE_STEP:/
	no room beside those that are down|s/unavailable\(obs\) \+ 1 : 1/1 : 1/
	room for one more|s/unavailable\(obs\) \+ 1/unavailable(obs) + 2/
	the room stays when a step is done|s/unavailable\(obs\) \+ 1 : 1/unavailable(obs) + 1 : 2/
	nobody is starved|s/if \(!o->budget \|\| o->budget > unavailable\(o\)\)/if (true)/
	who has room is starved|s/o->budget > unavailable\(o\)\)/false)/
	fed without the gates|s/if \(gates_hold\(o, o->replicas, ordinal \+ 1, true, d\)\)\n\t\treturn;/;/
	fed with those below|s/(ROLLOUT_WRITE_STEP, o->replicas, )ordinal\)/\1o->partition)/
	no requeue|s/\.requeue = obs->recheck/.requeue = 0/
	looked at as often for ever|s/d\.requeue = later_and_later/(void)later_and_later/
	ever later without an end|s/ms = ROLLOUT_RECHECKS \* o->recheck;/;/
	more often than at every recheck|s/ms = o->recheck;/;/
	patience ends unseen|s/ROLLOUT_REFUSED_MS, ROLLOUT_PATIENCE_MS/ROLLOUT_REFUSED_MS/
	a refusal is seen late|s/ROLLOUT_REFUSED_MS, ROLLOUT_PATIENCE_MS/ROLLOUT_PATIENCE_MS/
	a gate is looked at ever later|s/return told;/return true;/
	a write keeps the requeue|s/\td->requeue = 0;\n\}\n\nstatic int pods_left/}\n\nstatic int pods_left/
	X
}

# The rest of what the tests need, built once and without the mutated file.
objects=("$B"/test/rollout/{model,promises,world}.o)
for o in "${objects[@]}" "${tests[@]/#/$B/test/rollout/test_rollout_}"; do
	[ -e "${o%.o}.o" ] || { echo "mutate.sh: $o is not there: make check first" >&2; exit 2; }
done
flags=(-std=gnu17 -O2 -Wno-unused -D_GNU_SOURCE -I.)
link() { gcc "$1" "${objects[@]}" "$B/test/rollout/test_rollout_$2.o" -lcmocka -o "$3"; }

# mutant NUMBER NAME EXPRESSION: one line on stdout, the first word of which says how it went
mutant() {
	local d=$work/$1 t
	mkdir "$d"
	sed -E -z "$3" controller/rollout.c > "$d/rollout.c"
	! cmp -s "$d/rollout.c" controller/rollout.c || { echo "UNCHANGED  $2"; return; }
	gcc "${flags[@]}" -c "$d/rollout.c" -o "$d/rollout.o" 2> "$d/log" || { echo "INVALID    $2: $(tail -n 1 "$d/log")"; return; }
	for t in "${tests[@]}"; do
		link "$d/rollout.o" "$t" "$d/$t"
		timeout 300 "$d/$t" > "$d/log" 2>&1 || { echo "ok         $2: noticed by $t"; return; }
	done
	echo "SURVIVED   $2"
}

# The tests must pass on the file as it is, or everything is noticed.
gcc "${flags[@]}" -c controller/rollout.c -o "$work/rollout.o"
for t in "${tests[@]}"; do
	link "$work/rollout.o" "$t" "$work/$t"
	"$work/$t" > "$work/log" 2>&1 || { cat "$work/log" >&2; echo "mutate.sh: $t fails without a mutation" >&2; exit 1; }
done
n=0
while IFS='|' read -r name expression; do
	n=$((n + 1))
	while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done
	mutant "$n" "$name" "$expression" > "$work/$n.out" &
done < <(mutations)
wait
for ((i = 1; i <= n; i++)); do cat "$work/$i.out"; done | tee "$work/all"
passed=$(grep -c '^ok ' "$work/all" || true)
echo "$passed passed, $((n - passed)) failed"
[ "$passed" = "$n" ]
