#!/usr/bin/env bash
# The published studies redone as a user redoes them: gen, replay --study, compare, on the modelled device. Takes the
# program from $BUILD/zreel. Reports as cmocka does, for .ci/run-tests.
# shellcheck disable=SC2317 # functions are called through claim
set -uo pipefail

zreel=$(realpath "${BUILD:-build}/zreel")
here=$(realpath "$(dirname "$0")")
export LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# shellcheck source=ui/e2e/claims
. "$here/claims"

workloads_are_made() {
	exits 0 gen kernel-build -o kb.zr --scale 0.02 && exits 0 gen july-1 -o july-1.zr --scale 0.05 &&
		exits 0 gen july-2 -o july-2.zr --scale 0.02 && exits 0 gen usemem -o usemem.zr --scale 0.02 &&
		exits 0 gen uniform -o u.zr --scale 0.05 --json && grep -q '"workload": "uniform"' out
}

workloads_are_sound() {
	local trace
	for trace in kb july-1 july-2 usemem u; do
		exits 0 verify "$trace.zr" && exits 0 info "$trace.zr" && grep -q 'generated, no kernel' out || return 1
	done
}

workloads_are_the_same_again() {
	exits 0 gen july-1 -o again.zr --scale 0.05 && exits 0 dump july-1.zr && mv out first && exits 0 dump again.zr &&
		cmp first out && exits 0 gen july-1 -o other.zr --scale 0.05 len=3000 incompressible_percent=0 &&
		exits 0 dump other.zr && ! cmp -s first out
}

gen_lists_what_there_is() {
	exits 0 gen --list && grep -q 'kernel-build' out && grep -q 'incompressible_percent' out
}

gen_errors() {
	complains 2 'WORKLOAD is missing' gen && complains 2 'say where to' gen uniform &&
		complains 2 "'nosuch' is not a workload" gen nosuch -o x.zr && [ ! -e x.zr ] &&
		complains 2 "'nosuch' is not a parameter" gen uniform -o x.zr nosuch=1 && [ ! -e x.zr ] &&
		complains 2 'above 0' gen uniform -o x.zr --scale x && complains 3 'u.zr' gen uniform -o u.zr
}

# number KEY TEXT: the first figure of a key behind a text in `out`, as JSON has it.
number() {
	awk -v key="\"$1\":" -v text="$2" 'index($0, text) { seen = 1 }
		seen && index($0, key) { gsub(/[,"]/, ""); print $NF; exit }' out
}

# change LABEL [STUDY CASE]: how our figure changes from the first policy to the second.
change() {
	awk -v label="\"label\": \"$1\"" 'index($0, label) { row = 1 }
		row && /"here"/ { ours = 1 }
		ours && /"change"/ { gsub(/,/, ""); print $NF; exit }' out
}

below() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a != "null" && a < b) }' ||
		{ echo "'$1' is not below '$2'"; return 1; }
}

batch_study() {
	exits 0 replay kb.zr --study batch --runs batch.zr && grep -q 'Study batch:.*kernel build alone' out &&
		grep -q 'next to a random writer' out && grep -q '748 ± 47' out && grep -q 'not measured' out || return 1
	exits 0 compare batch.zr && grep -q 'Study batch:' out && grep -q '^pages per write request =' out || return 1
	json compare batch.zr --json && below "$(change 'write requests (k)')" -0.05 &&
		below 0.05 "$(change 'pages per write request')"
}

plug_study_knows_noise() {
	exits 0 replay kb.zr --study plug --runs plug.zr && grep -A 12 'next to a random writer' out |
		grep '^iocost wait' | grep -q '633 ± 29 *+1.4% *within noise'
}

# ours LABEL N: our figure of the Nth policy.
ours() {
	awk -v label="\"label\": \"$1\"" -v nth="$2" 'index($0, label) { row = 1 }
		row && /"here"/ { ours = 1 }
		ours && /"mean"/ && ++n == nth { gsub(/,/, ""); print $NF; exit }' out
}

# Fewer wakeups and calls by an order of magnitude, more written back, fewer rejected.
july_study_case_1() {
	exits 0 replay july-1.zr --study memcg-batch --runs july-1-runs.zr && grep -q 'Study memcg-batch' out &&
		grep -q '11,373,201' out && json compare july-1-runs.zr --json &&
		below "$(change 'shrink_worker wakeups')" -0.9 && below "$(change 'shrink_memcg calls')" -0.9 &&
		below "$(change 'store rejected')" -0.1 &&
		below "$(ours 'written_back pages' 1)" "$(ours 'written_back pages' 2)"
}

july_study_case_2() {
	exits 0 replay july-2.zr --study memcg-batch --runs july-2-runs.zr && grep -q '768,576' out &&
		json compare july-2-runs.zr --json && below "$(change 'shrink_worker wakeups')" 0 &&
		below "$(change 'store rejected')" -0.1 && below "$(change 'pool_limit_hit')" -0.3 &&
		below "$((10 * $(ours 'written_back pages' 1)))" "$(ours 'written_back pages' 2)"
}

shrink_enabled_study() {
	exits 0 replay usemem.zr --study shrink-enabled --runs usemem-runs.zr && grep -q '521,425 x13' out &&
		json compare usemem-runs.zr --json && below 0 "$(change 'store (KB/s)')"
}

# Of a trace's replays on the model two are alike, on any number of threads, but for their date and id.
model_is_deterministic() {
	exits 0 replay kb.zr --on model -p unbatched -p plugged --runs one.zr --json && sed '/"file"/d' out >one
	exits 0 replay kb.zr --on model -p unbatched -p plugged --runs two.zr -j 2 --json && sed '/"file"/d' out >two
	[ -s one ] && cmp one two && grep -q '"figure": "modelled"' one && ! grep -q '"figure": "measured"' one
}

paces() {
	local pace
	for pace in asap recorded scaled:10 closed; do
		exits 0 replay kb.zr --on model --pace "$pace" -p batched --runs pace.zr --json &&
			grep -q "\"pace\": \"$pace\"" out && [ "$(number mean makespan_us)" != 0 ] || return 1
	done
	exits 0 compare pace.zr && grep -q 'differ in pace (' out
}

device_models() {
	exits 0 replay --policies && grep -q 'ssd-fast' out && grep -q 'write_rand_ns' out &&
		exits 0 replay kb.zr --on model --device-model hdd+channels=2 -p batched --runs hdd.zr &&
		exits 0 compare hdd.zr && grep -q 'target model hdd+channels=2' out && grep -q 'read_rand_ns=2679000' out
}

replay_errors() {
	complains 2 'there are: batch, plug' replay kb.zr --study nosuch && complains 2 'leave out -p' replay kb.zr --study plug -p vswap &&
		complains 2 'asap, recorded, closed' replay kb.zr --on model --pace never &&
		complains 2 'begins with ssd' replay kb.zr --on model --device-model floppy &&
		complains 4 'on null there is no time' replay kb.zr --pace recorded && complains 2 'for the target model only' replay kb.zr --device-model ssd
}

claim workloads_are_generated workloads_are_made
claim generated_traces_are_sound_and_say_what_they_are workloads_are_sound
claim the_same_parameters_give_the_same_trace workloads_are_the_same_again
claim gen_lists_workloads_and_parameters gen_lists_what_there_is
claim gen_errors_have_their_status gen_errors
claim batch_study_is_redone_with_its_own_table batch_study
claim plug_study_prints_the_published_noise plug_study_knows_noise
claim july_study_wakes_the_worker_ten_times_less july_study_case_1
claim july_study_writes_back_what_the_baseline_cannot july_study_case_2
claim shrink_enabled_races_the_three shrink_enabled_study
claim model_is_the_same_on_any_number_of_threads model_is_deterministic
claim paces_are_kept_apart paces
claim device_models_are_listed_and_named device_models
claim study_and_model_errors_have_their_status replay_errors
exit $bad
