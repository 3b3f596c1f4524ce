# Adds up what test runners say at their end: cargo's "test result:" lines, plain "N passed, N failed" lines, and
# lines of single checks ("ok …", "FAILED …", "skipped …"). Prints: passed failed skipped.
# A program under test may have left its line without an end, so the words are looked for anywhere.
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
/^skipped / { skipped++ }
END { print passed + 0, failed + 0, skipped + 0 }
