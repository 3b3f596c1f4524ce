#!/bin/sh
# The first process of a guest: makes a small Linux of it, runs the job, says how it ended, and switches off.
#
# ttyS0 = the kernel's messages and this script's marks, ttyS1 and ttyS2 = the job's output and errors.
export PATH=/job/bin:/bin:/sbin HOME=/root LANG=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts /run /tmp /root /var/log
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /tmp
ln -sf /proc/self/fd /dev/fd
mount -t cgroup2 -o nsdelegate cgroup /sys/fs/cgroup
for controller in $(cat /sys/fs/cgroup/cgroup.controllers); do
    echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null
done
mount -t debugfs debug /sys/kernel/debug 2>/dev/null
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
hostname guest
ip link set lo up

# Three users beside root, each with a group, a home and a runtime directory of their own; all are in "users".
for user in alice:1001 bob:1002 carol:1003; do
    id=${user#*:} name=${user%:*}
    mkdir -p "/users/$name" "/run/user/$id"
    chown "$id:$id" "/users/$name" "/run/user/$id"
    chmod 700 "/users/$name" "/run/user/$id"
done

stty -F /dev/ttyS1 raw -echo
stty -F /dev/ttyS2 raw -echo
cd /root || exit
echo "NUMAVM_START" >/dev/ttyS0
setsid sh /job/command </dev/null >/dev/ttyS1 2>/dev/ttyS2
code=$?
# Whatever is left must let go of the output; what is written is waited for by the last close.
kill -9 -1 2>/dev/null
echo "NUMAVM_EXIT=$code" >/dev/ttyS0
reboot -f
