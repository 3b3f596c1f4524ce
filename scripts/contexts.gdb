# contexts.gdb - backtraces of the threads of a folded team that wait in user space
# (docs/guides/folding.md).
#
#   (gdb) source scripts/contexts.gdb
#   (gdb) contexts        every thread of the team, with its kernel thread or "waits"
#   (gdb) context 3       backtrace of thread 3 of the team
#
# It needs x86-64, a live process, and the debug information of the preloaded library. `context` lends
# the selected thread the registers of the waiting one, shows the backtrace, and puts its own back.

define contexts
  set $nm_i = 0
  while nm_team.contexts != 0 && $nm_i < nm_team.members
    set $nm_c = &nm_team.contexts[$nm_i]
    if $nm_c->runner != 0
      printf "%4u  runs on LWP %d\n", $nm_i, nm_team.carriers[$nm_c->runner - 1].tid
    else
      printf "%4u  waits, stack pointer %p, thread pointer 0x%lx\n", $nm_i, $nm_c->sp, $nm_c->tls
    end
    set $nm_i = $nm_i + 1
  end
end
document contexts
Lists the threads of a folded team: the kernel thread of each one that runs, or its stack.
end

define context
  set $nm_c = &nm_team.contexts[$arg0]
  if nm_team.contexts == 0
    echo No team has been folded yet.\n
  else
  if $nm_c->runner != 0
    printf "thread %d runs on LWP %d: see `info threads`\n", $arg0, nm_team.carriers[$nm_c->runner - 1].tid
  else
    # As nm_switch has left it: floating-point state, GS base, r15, r14, r13, r12, rbx, rbp, return address.
    set $nm_s = (unsigned long *) $nm_c->sp
    # An outer frame's registers cannot be written.
    select-frame 0
    set $nm_0 = $rip
    set $nm_1 = $rsp
    set $nm_2 = $rbp
    set $nm_3 = $rbx
    set $nm_4 = $r12
    set $nm_5 = $r13
    set $nm_6 = $r14
    set $nm_7 = $r15
    set $nm_8 = $orig_rax
    set $r15 = $nm_s[2]
    set $r14 = $nm_s[3]
    set $r13 = $nm_s[4]
    set $r12 = $nm_s[5]
    set $rbx = $nm_s[6]
    set $rbp = $nm_s[7]
    set $rsp = $nm_s + 9
    set $rip = $nm_s[8]
    backtrace
    set $r15 = $nm_7
    set $r14 = $nm_6
    set $r13 = $nm_5
    set $r12 = $nm_4
    set $rbx = $nm_3
    set $rbp = $nm_2
    set $rsp = $nm_1
    set $rip = $nm_0
    # Last, because gdb forgets an interrupted system call when the instruction pointer is written.
    set $orig_rax = $nm_8
  end
  end
end
document context
Backtrace of a thread of a folded team, by its number in the team.
end
