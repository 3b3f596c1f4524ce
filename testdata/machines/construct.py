#!/usr/bin/env python3
"""Writes the constructed machines of this folder (see README.md). Run it here after a change; the recorded one is left alone.

Each machine is a dictionary from path to content, written as `path<TAB>content` lines. Only files that the reader looks at
are written, and of the caches only the last level (elsewhere than in the recorded machine).
"""

import os

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"


def ranges(items):
    """A Linux list: 0-3,8."""
    out, items = [], sorted(items)
    while items:
        low = high = items.pop(0)
        while items and items[0] == high + 1:
            high = items.pop(0)
        out.append(f"{low}" if low == high else f"{low}-{high}")
    return ",".join(out)


def write(name, files):
    os.makedirs(name, exist_ok=True)
    with open(f"{name}/sysfs.txt", "w") as out:
        for path in sorted(files):
            out.write(f"{path}\t{files[path]}\n")


def cpus(files, online, present=None, isolated=()):
    files[f"{CPU}/online"] = ranges(online)
    files[f"{CPU}/present"] = ranges(present or online)
    files[f"{CPU}/isolated"] = ranges(isolated)


def topology(files, cores, packages, core_ids=None):
    """`cores`: lists of PUs. `packages`: physical id -> list of PUs."""
    for physical, members in packages.items():
        for cpu in members:
            files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = physical
            files[f"{CPU}/cpu{cpu}/topology/package_cpus_list"] = ranges(members)
    for number, members in enumerate(cores):
        for cpu in members:
            files[f"{CPU}/cpu{cpu}/topology/core_cpus_list"] = ranges(members)
            if core_ids:
                files[f"{CPU}/cpu{cpu}/topology/core_id"] = core_ids(number)


def caches(files, groups, size_kb, level=3, ids=True):
    for number, members in enumerate(groups):
        for cpu in members:
            cache = f"{CPU}/cpu{cpu}/cache/index{level}"
            files[f"{cache}/level"] = level
            files[f"{cache}/type"] = "Unified"
            files[f"{cache}/size"] = f"{size_kb}K"
            files[f"{cache}/shared_cpu_list"] = ranges(members)
            if ids:
                files[f"{cache}/id"] = number


def nodes(files, groups, memory_kb, distances):
    """`groups`: OS index -> PUs; `memory_kb`: OS index -> kB; `distances`: rows in order of the OS indices."""
    for (node, members), row in zip(groups.items(), distances):
        files[f"{NODE}/node{node}/cpulist"] = ranges(members)
        files[f"{NODE}/node{node}/meminfo"] = f"Node {node} MemTotal:       {memory_kb[node]} kB"
        files[f"{NODE}/node{node}/distance"] = " ".join(map(str, row))


def span(first, count):
    return list(range(first, first + count))


def opteron_8n2c():
    """Eight sockets of two cores in a twisted ladder: one to three hops."""
    f = {}
    sockets = {n: [n, n + 8] for n in range(8)}
    cpus(f, range(16))
    topology(f, [[c] for c in range(16)], sockets)
    caches(f, [[c] for c in range(16)], 1024, level=2)
    links = {(0, 1), (0, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5), (4, 6), (5, 7), (6, 7)}
    hops = [[0 if a == b else 9 for b in range(8)] for a in range(8)]
    for a, b in links:
        hops[a][b] = hops[b][a] = 1
    for via in range(8):
        for a in range(8):
            for b in range(8):
                hops[a][b] = min(hops[a][b], hops[a][via] + hops[via][b])
    distances = [[10 if h == 0 else 10 + 6 * min(h, 3) for h in row] for row in hops]
    nodes(f, sockets, dict.fromkeys(range(8), 4 << 20), distances)
    write("16amd64-8n2c", f)


def epyc_2p_nps4():
    """Two sockets, four nodes each, two L3 of eight cores each, SMT siblings numbered after all cores."""
    f = {}
    both = lambda cores: [t + c for t in (0, 128) for c in cores]
    cpus(f, range(256))
    topology(f, [[c, c + 128] for c in range(128)], {p: both(span(64 * p, 64)) for p in range(2)})
    caches(f, [both(span(8 * n, 8)) for n in range(16)], 32768)
    rows = [[10 if a == b else 12 if a // 4 == b // 4 else 32 for b in range(8)] for a in range(8)]
    nodes(f, {n: both(span(16 * n, 16)) for n in range(8)}, dict.fromkeys(range(8), 64 << 20), rows)
    write("256amd64-2p8n-smt", f)


def arm_server():
    """Two sockets, four nodes, no cache ids, ACPI offsets for package and core ids."""
    f = {}
    cpus(f, range(96))
    topology(f, [[c] for c in range(96)], {36: span(0, 48), 3180: span(48, 48)}, core_ids=lambda n: 40 + 33 * n)
    caches(f, [span(24 * n, 24) for n in range(4)], 24576, ids=False)
    rows = [[10, 12, 20, 22], [12, 10, 22, 24], [20, 22, 10, 12], [22, 24, 12, 10]]
    nodes(f, {n: span(24 * n, 24) for n in range(4)}, dict.fromkeys(range(4), 32 << 20), rows)
    write("96arm64-no-cache-ids", f)


def hybrid_intel():
    """Six performance cores with two PUs, eight efficiency cores with one; the two sorts are perf devices."""
    f = {}
    cpus(f, range(20))
    topology(f, [[2 * c, 2 * c + 1] for c in range(6)] + [[c] for c in range(12, 20)], {0: span(0, 20)})
    caches(f, [span(0, 20)], 24576)
    f["sys/devices/cpu_core/cpus"] = "0-11"
    f["sys/devices/cpu_atom/cpus"] = "12-19"
    nodes(f, {0: span(0, 20)}, {0: 32 << 20}, [[10]])
    write("20amd64-hybrid", f)


def big_little():
    """Three sorts of cores told apart by capacity alone; no NUMA in the kernel, no package ids."""
    f = {}
    cpus(f, range(8))
    topology(f, [[c] for c in range(8)], {-1: span(0, 8)})
    caches(f, [span(0, 8)], 8192, ids=False)
    for cpu in range(8):
        f[f"{CPU}/cpu{cpu}/cpu_capacity"] = 325 if cpu < 4 else 870 if cpu < 7 else 1024
    write("8arm64-three-kinds", f)


def memory_only():
    """A node without memory, two memory-only ones behind unequal distances that differ by direction, gaps in the numbers."""
    f = {}
    cpus(f, range(16))
    packages = {0: span(0, 16)[::2], 1: span(1, 16)[::2]}
    topology(f, [[c] for c in range(16)], packages)
    caches(f, packages.values(), 36864)
    rows = [[10, 21, 17, 28], [21, 10, 28, 17], [17, 28, 10, 35], [26, 14, 31, 10]]
    memory = {0: 64 << 20, 1: 0, 4: 128 << 20, 9: 16 << 20}
    nodes(f, {0: packages[0], 1: packages[1], 4: [], 9: []}, memory, rows)
    write("16amd64-memory-only", f)


def llc_spans_nodes():
    """One package, four nodes, two L3 that span two nodes each."""
    f = {}
    cpus(f, range(32))
    topology(f, [[c] for c in range(32)], {0: span(0, 32)})
    caches(f, [span(0, 16), span(16, 16)], 65536)
    rows = [[10, 11, 12, 12], [11, 10, 12, 12], [12, 12, 10, 11], [12, 12, 11, 10]]
    nodes(f, {n: span(8 * n, 8) for n in range(4)}, dict.fromkeys(range(4), 8 << 20), rows)
    write("32amd64-llc-spans-nodes", f)


def offline_isolated():
    """Two packages of four cores with SMT; one core and one sibling offline, two cores isolated."""
    f = {}
    cores = [[c, c + 8] for c in range(8)]
    online = [c for c in range(16) if c not in (3, 11, 13)]
    present = set(online)
    keep = lambda members: [c for c in members if c in present]
    cpus(f, online, present=range(16), isolated=[6, 7, 14, 15])
    topology(f, [c for c in map(keep, cores) if c], {p: keep([4 * p + c + t for c in range(4) for t in (0, 8)]) for p in (0, 1)})
    halves = {p: keep([4 * p + c + t for c in range(4) for t in (0, 8)]) for p in (0, 1)}
    caches(f, halves.values(), 16384)
    nodes(f, halves, dict.fromkeys((0, 1), 16 << 20), [[10, 20], [20, 10]])
    write("16amd64-offline-isolated", f)


def bare():
    """Almost nothing: no topology, no caches, no nodes."""
    write("4riscv64-bare", {f"{CPU}/online": "0-3"})


for machine in (opteron_8n2c, epyc_2p_nps4, arm_server, hybrid_intel, big_little, memory_only, llc_spans_nodes, offline_isolated, bare):
    machine()
