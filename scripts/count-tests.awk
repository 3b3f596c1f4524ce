# Reads the log of one suite of tests. The first line that it prints is: passed failed skipped. Then
# comes one line for each skip, "NAME: REASON", for scripts/check-skips.sh.
#
# It adds up what test runners say at their end, cargo's "test result:" lines and plain "N passed, N
# failed" lines, and lines of single checks: "ok …", "FAILED …", "skipped NAME: REASON". "skipped
# test NAME: REASON" is said by a test that cargo's harness counts as passed, so it goes from the
# passed ones to the skipped ones. "skipped in part NAME: REASON" is said by a test that has passed
# without one of its cases; it is not counted, and printed as "NAME in part: REASON". A program
# under test may have left its line without an end, so the words of cargo's harness are looked for
# anywhere.

# Cargo runs one test program after the other, and two may have a test of the same name.
/ Running .*\(.*\)$/ { binary = $0 }
/test [^ ]+ \.\.\. ignored/ {
    sub(/.*test /, "")
    keep($1, / ignored, ./ ? substr($0, index($0, " ignored, ") + 10) : "")
    next
}
/test result: (ok|FAILED)\./ {
    for (i = 1; i <= NF; i++) {
        if ($(i + 1) ~ /^passed/) passed += $i
        if ($(i + 1) ~ /^failed/) failed += $i
        if ($(i + 1) ~ /^ignored/) skipped += $i
    }
    next
}
/^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/ {
    passed += $1; failed += $3; skipped += $5; next
}
/^ok / { passed++ }
/^FAILED / { failed++ }
/^skipped in part / { keep_line(4, " in part"); next }
/^skipped test / {
    keep_line(3)
    if (!((binary, $3) in left)) {
        passed--
        skipped++
    }
    left[binary, $3] = 1
    next
}
/^skipped / { keep_line(2); skipped++ }
END {
    print passed + 0, failed + 0, skipped + 0
    for (line = 1; line <= lines; line++) print kept[line]
}

# keep_line(FIRST, KIND): the name begins with this word of the line and is kept with its kind.
function keep_line(first, kind,    text) {
    text = $0
    while (--first) sub(/^[^ ]+ /, "", text)
    if (text ~ /^[^:].*: ./) keep(substr(text, 1, index(text, ": ") - 1) kind, substr(text, index(text, ": ") + 2))
    else keep(text kind, "")
}
function keep(name, reason) {
    if (reason == "") reason = "no reason given"
    if (!((name, reason) in known)) kept[++lines] = name ": " reason
    known[name, reason] = 1
}
