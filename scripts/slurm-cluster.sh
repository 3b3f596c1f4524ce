#!/usr/bin/env bash
# A Slurm cluster on this host, for tests: one slurmctld, several slurmd, and a munged of their own.
# Everything is below DIR and on loopback, at ports that are free. `stop` leaves no process and no
# cgroup behind, and nothing outside of DIR.
#
# usage: scripts/slurm-cluster.sh start DIR [OPTION...]   ends when every node is idle
# usage: scripts/slurm-cluster.sh stop DIR                ends jobs, nodes and controller; logs stay in DIR/log
# usage: scripts/slurm-cluster.sh status DIR              the nodes; 0 all of them work, 1 some do not, 3 nothing runs
# usage: scripts/slurm-cluster.sh kill DIR NODE           ends a node with SIGKILL, and everything that runs on it
# usage: scripts/slurm-cluster.sh revive DIR NODE         starts such a node's daemon again, and waits until the node works
#
# options of start:
#   --nodes N            nodes, named n1, n2 ... [default: 3]
#   --cpus N             processors that each node says it has, whatever this host has [default: 2]
#   --oversubscribe N    each processor is given to as many as N jobs (OverSubscribe=FORCE:N)
#   --cgroup             track jobs by cgroups (proctrack/cgroup, task/cgroup), else by process groups; needs root
#   --cgroup-cores       the same, and each job has only its processors (ConstrainCores)
#   --auth none|munge    [default: munge]; under `none` every user of this host can be anybody in the cluster
#   --task-prolog FILE   TaskProlog
#   --plugstack FILE     PlugStackConfig: SPANK plugins
#   --set KEY=VALUE      any other setting of slurm.conf, also instead of this script's (repeat for several)
#   --wait SECONDS       until all nodes are idle [default: 60]
#   --with PID           end the cluster when this process has ended, however it does
#
# Afterwards every command of Slurm finds the cluster by SLURM_CONF=DIR/slurm.conf.
# Exit codes: 0; 1 failed, and the reason; 64 wrong usage; 77 Slurm is not installed here.
set -u -o pipefail

usage() { sed -n 's/^# usage: //p; /^# options of start:/,/^$/s/^# \{0,1\}//p' "$0"; }
complain() { echo "slurm-cluster: $*" >&2; }
misused() { complain "$*"; echo "slurm-cluster: scripts/slurm-cluster.sh --help names the options" >&2; exit 64; }

# Debian keeps the daemons where an ordinary user's PATH does not lead.
PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin

case ${1-} in -h | --help | help) usage; exit 0 ;; esac
verb=${1-} dir=${2-}
case $verb in
start | stop | status | kill | revive | watch) ;;
*) usage >&2; exit 64 ;;
esac
[ -n "$dir" ] || misused "$verb needs a directory"
shift 2
case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
dir=${dir%/}
script=$(realpath "$0")
conf=$dir/slurm.conf

## What runs

# The cluster's processes, one number a line: its daemons and what they have started, all of them or
# those of one node. A daemon passes its environment to its steps. A task has the environment of
# whoever submitted it, but Slurm names the node there. So a shell that has only SLURM_CONF, such as
# the caller's, is none of them; nor is this script, nor anything above it. A task that clears its
# environment is found in its cgroup; without cgroups Slurm itself cannot find one that has left its
# session.
processes() {
    local node=${1-} process pid above=" $$ " parent=$PPID
    while [ "${parent:-0}" -gt 1 ]; do
        above+="$parent "
        parent=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$parent/status" 2>/dev/null)
    done
    [ ! -e "$dir/with-cgroups" ] || cgroups "$@" | while read -r process; do cat "$process/cgroup.procs"; done 2>/dev/null
    for process in /proc/[0-9]*; do
        pid=${process#/proc/}
        [[ $above == *" $pid "* ]] && continue
        # Sub-shells of this script have its environment, without the mark.
        tr '\0' '\n' 2>/dev/null <"$process/environ" | awk -v dir="$dir" -v node="$node" '
            $0 == "NUMAESTRO_SLURM_CLUSTER=" dir { daemon = 1 }
            $0 == "SLURM_CONF=" dir "/slurm.conf" { conf = 1 }
            /^SLURMD_NODENAME=/ { name = substr($0, 17) }
            END { exit !((daemon || (conf && name != "")) && (node == "" || name == node)) }' && echo "$pid"
    done 2>/dev/null
}

# Whether a process of the cluster is there.
runs() { [ -n "$(processes "$@")" ]; }

# Ends processes with a signal until none is left, for some seconds: end_all SIGNAL SECONDS [NODE].
end_all() {
    local signal=$1 rounds=$(($2 * 5)) left
    shift 2
    while left=$(processes "$@"); [ -n "$left" ]; do
        [ $((rounds--)) -gt 0 ] || return 1
        # shellcheck disable=SC2086
        kill "-$signal" $left 2>/dev/null
        sleep 0.2
    done
}

# Waits for a command to succeed: await SECONDS COMMAND...
await() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.2
    done
}

slurm() { SLURM_CONF=$conf timeout 10 "$@"; }

# The names of the nodes that the cluster was made with.
node_names() { sed -n 's/^NodeName=\([^ ]*\) .*/\1/p' "$conf"; }

# The last lines of what a daemon said.
log_of() {
    local log=$dir/log/$1.log
    [ -s "$log" ] || { echo "(it said nothing in $log)"; return; }
    echo "the end of $log:"
    tail -n 8 "$log" | sed 's/^/    /'
}

# A process of the cluster, with its mark and without the settings of another cluster.
daemon() {
    local name
    for name in $(compgen -e); do
        case $name in SLURM* | SBATCH_* | SALLOC_* | SRUN_*) unset "$name" ;; esac
    done
    export NUMAESTRO_SLURM_CLUSTER=$dir SLURM_CONF=$conf
    cd "$dir/log" && "$@" </dev/null >>"$dir/log/start.log" 2>&1
}
# With -c a daemon ends the jobs that it finds: this is for a node on which nothing runs.
start_node() {
    local clean=-c
    ! runs "$1" || clean=
    mkdir -p "$dir/spool/$1"
    (daemon env SLURMD_NODENAME="$1" slurmd $clean -N "$1" -f "$conf")
}

nodes_are_idle() {
    local names states
    names=${*:-$(node_names)}
    states=$(slurm sinfo --noheader --Node --format %T --nodes "$(tr ' \n' ',,' <<<"$names")" 2>/dev/null) || return 1
    [ -n "$states" ] && ! grep -qvx idle <<<"$states"
}

# Whether the daemon of a node is there, and whether the controller counts on the node.
daemon_runs() { local pid; pid=$(cat "$dir/run/slurmd.$1.pid" 2>/dev/null) && grep -qzx "SLURMD_NODENAME=$1" "/proc/$pid/environ" 2>/dev/null; }
node_works() {
    daemon_runs "$1" && slurm sinfo --noheader --Node --format %T --nodes "$1" 2>/dev/null | grep -qxE 'idle|mixed|allocated|completing'
}

## Cgroups: Slurm leaves its directories behind, which are named after the nodes

# Those of all nodes, or of one; the inner ones first.
cgroups() {
    local node
    for node in ${*:-$(node_names)}; do
        find /sys/fs/cgroup -depth -type d \( -path "*/slurm_$node" -o -path "*/slurm_$node/*" -o -path "*/system.slice/${node}_slurmstepd.scope*" \) 2>/dev/null
    done
}
remove_cgroups() {
    [ -e "$dir/with-cgroups" ] || return 0
    # A cgroup can be removed a moment after its last process has ended.
    # shellcheck disable=SC2016
    await 5 bash -c 'for one in "$@"; do rmdir "$one" 2>/dev/null || [ ! -d "$one" ] || exit 1; done' _ $(cgroups)
}

## Ports

# So many ports in a row at which nothing listens, below those that the kernel gives out by itself.
free_ports() {
    local count=$1 taken first port
    taken=" $(awk 'FNR > 1 { sub(".*:", "", $2); print $2 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null | tr '\n' ' ')"
    for _ in {1..50}; do
        first=$((20000 + RANDOM % 10000))
        for ((port = first; port < first + count; port++)); do
            [[ $taken == *" $(printf %04X $port) "* ]] && continue 2
        done
        echo $first
        return
    done
    return 1
}

## The verbs

write_conf() {
    local host user memory index share=NO
    [ -z "$oversubscribe" ] || share=FORCE:$oversubscribe
    host=$(hostname -s) user=$(id -un)
    memory=$(awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo)
    # Settings by key, so that --set replaces them: Slurm does not know a setting twice.
    declare -A settings=(
        [ClusterName]=numaestro
        [SlurmctldHost]="$host(127.0.0.1)"
        [SlurmctldPort]=$port
        [SlurmUser]=$user
        [SlurmdUser]=$user
        [AuthType]=auth/$auth
        [CredType]=cred/$auth
        # Other hosts have no business here.
        [CommunicationParameters]=NoInAddrAny,NoCtldInAddrAny
        [StateSaveLocation]=$dir/state
        [SlurmdSpoolDir]=$dir/spool/%n
        [SlurmctldPidFile]=$dir/run/slurmctld.pid
        [SlurmdPidFile]=$dir/run/slurmd.%n.pid
        [SlurmctldLogFile]=$dir/log/slurmctld.log
        [SlurmdLogFile]=$dir/log/slurmd.%n.log
        # Several nodes on one host, each with as many processors as it says.
        [SlurmdParameters]=config_overrides
        [SelectType]=select/cons_tres
        [SelectTypeParameters]=CR_CPU
        [ProctrackType]=proctrack/pgid
        [TaskPlugin]=task/none
        [JobAcctGatherType]=jobacct_gather/none
        [MpiDefault]=none
        [MailProg]=/bin/true
        # A node that was killed is down soon, and idle soon after it has come back.
        [SlurmdTimeout]=5
        [ReturnToService]=2
        [ResumeTimeout]=20
        [BatchStartTimeout]=20
        [MessageTimeout]=5
        [KillWait]=2
        [UnkillableStepTimeout]=20
        [SlurmctldTimeout]=10
        # A job that is submitted starts now, not at the next round.
        [SchedulerType]=sched/backfill
        [SchedulerParameters]=batch_sched_delay=0,sched_min_interval=100000,bf_interval=1
        [SchedulerTimeSlice]=5
    )
    [ "$auth" = none ] || settings[AuthInfo]=socket=$dir/munge/socket
    if [ "$cgroup" = yes ]; then
        settings[ProctrackType]=proctrack/cgroup settings[TaskPlugin]=task/cgroup
        printf '%s\n' 'CgroupMountpoint=/sys/fs/cgroup' "ConstrainCores=$cores" 'ConstrainRAMSpace=no' >"$dir/cgroup.conf"
        : >"$dir/with-cgroups"
    fi
    [ -z "$prolog" ] || settings[TaskProlog]=$prolog
    [ -z "$plugstack" ] || settings[PlugStackConfig]=$plugstack
    local pair
    for pair in "${set[@]}"; do settings[${pair%%=*}]=${pair#*=}; done
    local key
    {
        for key in "${!settings[@]}"; do echo "$key=${settings[$key]}"; done | sort
        for ((index = 1; index <= nodes; index++)); do
            echo "NodeName=n$index NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + index)) CPUs=$cpus RealMemory=$memory State=UNKNOWN"
        done
        echo "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=$share"
    } >"$conf"
}

start_munged() {
    (umask 077 && head -c 1024 /dev/urandom >"$dir/munge/key")
    (daemon munged --force --socket "$dir/munge/socket" --key-file "$dir/munge/key" --log-file "$dir/log/munged.log" \
        --pid-file "$dir/run/munged.pid" --seed-file "$dir/munge/seed") && await 10 test -S "$dir/munge/socket"
}

# One try at the ports that were found; another program may have been faster.
start_all() {
    local name
    [ "$auth" = none ] || start_munged || { what=munged; return 1; }
    (daemon slurmctld -c -f "$conf") && await 15 slurm scontrol ping >/dev/null 2>&1 || { what=slurmctld; return 1; }
    for name in $(node_names); do
        start_node "$name" || { what=slurmd.$name; return 1; }
    done
    await "$wait" nodes_are_idle && return
    what=slurmctld
    for name in $(node_names); do
        nodes_are_idle "$name" || { what=slurmd.$name; return 1; }
    done
}

start() {
    nodes=3 cpus=2 oversubscribe='' cgroup=no cores=no auth=munge prolog='' plugstack='' wait=60 owner='' set=()
    local option
    while [ $# -gt 0 ]; do
        option=$1
        case $option in
        --cgroup) cgroup=yes; shift; continue ;;
        --cgroup-cores) cgroup=yes cores=yes; shift; continue ;;
        --nodes | --cpus | --oversubscribe | --auth | --task-prolog | --plugstack | --set | --wait | --with) ;;
        *) misused "start has no option $option" ;;
        esac
        [ $# -ge 2 ] || misused "$option needs a value"
        case $option in
        --nodes | --cpus | --oversubscribe | --wait)
            [[ $2 =~ ^[1-9][0-9]{0,3}$ ]] || misused "$option needs a number from 1, not \`$2'"
            printf -v "${option#--}" %s "$2" ;;
        --with) [ -d "/proc/$2" ] || misused "--with: there is no process $2"; owner=$2 ;;
        --auth) [[ $2 =~ ^(none|munge)$ ]] || misused "--auth is none or munge"; auth=$2 ;;
        --task-prolog | --plugstack)
            [ -r "$2" ] || misused "$option: there is no $2 that can be read"
            case $option in --plugstack) plugstack=$(realpath "$2") ;; *) prolog=$(realpath "$2") ;; esac ;;
        --set) [[ $2 == [A-Za-z]*=* ]] || misused "--set needs KEY=VALUE"; set+=("$2") ;;
        esac
        shift 2
    done

    local missing=() program
    for program in slurmctld slurmd sinfo scontrol scancel squeue $([ "$auth" = none ] || echo munged); do
        command -v "$program" >/dev/null || missing+=("$program")
    done
    [ ${#missing[@]} -eq 0 ] || {
        complain "not installed: ${missing[*]}; on Debian or Ubuntu: scripts/install-packages.sh slurm"
        exit 77
    }
    # Sockets of steps are below DIR/spool/NODE, and names of sockets are short.
    [ ${#dir} -le 60 ] || misused "the name of the directory is too long for sockets below it (60 characters): $dir"
    [[ $dir != *[[:space:]%#]* ]] || misused "slurm.conf cannot name such a directory: $dir"
    [ "$cgroup" = no ] || [ "$(id -u)" -eq 0 ] || misused "--cgroup needs root"
    ! runs || { complain "a cluster runs in $dir already; scripts/slurm-cluster.sh stop $dir ends it"; exit 1; }
    if [ -d "$dir" ] && [ ! -e "$conf" ] && [ -n "$(ls -A "$dir")" ]; then
        complain "$dir is not empty, and no cluster was there; name another directory"
        exit 1
    fi
    # Users of the cluster have to read its configuration and reach munge's socket.
    (umask 022 && mkdir -p "$dir") || exit 1
    rm -rf "$dir"/{state,spool,log,run,munge,with-cgroups,slurm.conf,cgroup.conf}
    (umask 022 && mkdir -p "$dir"/{state,spool,log,run,munge}) || exit 1
    chmod 755 "$dir" "$dir"/munge

    # Whatever ends this script early ends what it has started.
    trap 'trap - EXIT; stop_all; exit 1' EXIT INT TERM HUP
    local try what=''
    for try in 1 2 3; do
        port=$(free_ports $((nodes + 1))) || { complain "found no $((nodes + 1)) free ports"; exit 1; }
        (umask 022 && write_conf) || exit 1
        if [ "$try" -eq 1 ] && [ "$cgroup" = yes ] && [ -n "$(cgroups)" ]; then
            rm "$dir/with-cgroups"
            complain "another cluster with cgroups is here, or has left them: $(cgroups | tail -n 1)"
            exit 1
        fi
        if start_all; then
            trap - EXIT INT TERM HUP
            [ -z "$owner" ] || (daemon setsid --fork "$script" watch "$dir" "$owner")
            echo "slurm-cluster: $nodes nodes are idle; export SLURM_CONF=$conf"
            return 0
        fi
        grep -qs 'Address already in use' "$dir"/log/*.log || break
        stop_all
        rm -f "$dir"/log/*
    done
    complain "$what did not start, or not within $wait s; $(log_of "$what")"
    log_of start >&2
    exit 1
}

# Jobs get a moment to end as Slurm ends them. Then the daemons end, then whatever is left.
stop_all() {
    if [ -e "$dir/run/slurmctld.pid" ] && slurm scontrol ping >/dev/null 2>&1; then
        # shellcheck disable=SC2046
        slurm scancel --quiet $(slurm squeue --noheader --format %F | sort -u) >/dev/null 2>&1
        await 5 bash -c '[ -z "$(SLURM_CONF=$1 timeout 10 squeue --noheader 2>/dev/null)" ]' _ "$conf"
    fi
    end_all TERM 2 || end_all KILL 5 || {
        complain "these do not end: $(processes | tr '\n' ' ')"
        return 1
    }
    remove_cgroups || { complain "cgroups are left: $(cgroups | tr '\n' ' ')"; return 1; }
    rm -rf "$dir"/{state,spool,run,munge}
}

needs_cluster() {
    [ -e "$conf" ] || { complain "there is no cluster in $dir (no slurm.conf)"; exit 1; }
}
needs_node() {
    needs_cluster
    node=${1-}
    node_names | grep -qxF -- "$node" || misused "$verb needs a node: $(node_names | tr '\n' ' ')"
}

case $verb in
start) start "$@" ;;
watch)
    # Not for people: this is what --with leaves behind.
    tail --pid="$1" -f /dev/null
    # Without the mark, it does not end itself.
    exec env -u NUMAESTRO_SLURM_CLUSTER "$script" stop "$dir"
    ;;
stop)
    needs_cluster
    stop_all || exit 1
    ;;
status)
    needs_cluster
    runs || { echo "slurm-cluster: nothing runs in $dir"; exit 3; }
    slurm sinfo --Node --format '%12N %12T %6c %E' || { log_of slurmctld >&2; exit 1; }
    ! slurm sinfo --noheader --Node --format %T | grep -qE 'down|drain|fail|unknown|\*'
    ;;
kill)
    needs_node "$@"
    runs "$node" || { complain "$node does not run"; exit 1; }
    end_all KILL 5 "$node" || { complain "$node does not end"; exit 1; }
    ;;
revive)
    needs_node "$@"
    ! daemon_runs "$node" || { complain "$node runs already"; exit 1; }
    start_node "$node" && await 60 node_works "$node" || { complain "$node did not start; $(log_of "slurmd.$node")"; exit 1; }
    ;;
esac
