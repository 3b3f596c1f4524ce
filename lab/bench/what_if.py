#!/usr/bin/env python3
"""How well `numaestro what-if` foretells real mixes.

    numaestro sim validate --policies equi,batch,sw-dss --keep kept --mix 'pair-*'
    python3 lab/bench/what_if.py kept

`kept` has a journal for each policy, with all runs of all mixes. They are cut where no program is
there. Of each mix and policy the first run is the recording; the medians of all runs under the other
policies are what would have been. Two policies are compared where their median turnarounds differ
by more than 3 % and by more than the runs of one policy differ from their median (mean absolute
deviation, both added).
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

# The bounds in docs/PROMISES.md.
ERROR_MOST = 0.10
RIGHT_LEAST = 0.90
EFFECT_LEAST = 0.03


def periods(journal):
    """The head of a journal, and its lines by the times in which programs were there."""
    lines = journal.read_text().splitlines()
    found, there, now = [], set(), []
    for line in lines[1:]:
        try:
            event = json.loads(line).get("event")
        except json.JSONDecodeError:
            break
        if event is None:
            continue
        if event["what"] == "arrive":
            there.add(event["app"])
        if there:
            now.append(line)
        if event["what"] == "depart":
            there.discard(event["app"])
            if not there and now:
                found.append(now)
                now = []
    return lines[0], found


def times(period):
    """The names in order of arrival, the makespan and the mean turnaround in seconds."""
    names, began, ended = [], {}, {}
    for line in map(json.loads, period):
        event, at = line["event"], line["at"] / 1e9
        if event["what"] == "arrive":
            names.append(line.get("name", ""))
            began[event["app"]] = at
        elif event["what"] == "depart":
            ended[event["app"]] = at
    turnarounds = [ended[app] - began[app] for app in began]
    return tuple(names), max(ended.values()) - min(began.values()), statistics.mean(turnarounds)


def deviation(values):
    middle = statistics.median(values)
    return statistics.mean(abs(value - middle) for value in values)


def foretell(numaestro, head, period, policies):
    with tempfile.NamedTemporaryFile("w", suffix=".journal") as file:
        file.write("\n".join([head, *period]) + "\n")
        file.flush()
        command = [numaestro, "what-if", file.name, "--policies", ",".join(policies), "--json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kept", type=pathlib.Path, help="directory of `sim validate --keep`")
    parser.add_argument("--numaestro", default="target/release/numaestro")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a bound does not hold")
    args = parser.parse_args()
    runs, first = {}, {}
    for journal in sorted(args.kept.glob("*.journal")):
        head, found = periods(journal)
        policy = json.loads(head)["policy"]
        for period in found:
            names, makespan, turnaround = times(period)
            if len(names) > 1:
                runs.setdefault((names, policy), []).append((makespan, turnaround))
                first.setdefault((names, policy), (head, period))
    policies = sorted({policy for _, policy in runs})
    again, errors, right, pairs = [], [], 0, 0
    for (names, policy), (head, period) in sorted(first.items()):
        others = [other for other in policies if other != policy and (names, other) in runs]
        if not others:
            continue
        found = foretell(args.numaestro, head, period, others)
        again.append(abs(found["errors"]["makespan"]))
        middle = {key: [statistics.median(of) for of in zip(*runs[names, key])] for key in [policy, *others]}
        spread = {key: deviation([turnaround for _, turnaround in runs[names, key]]) for key in middle}
        predicted = {verdict["policy"]: verdict for verdict in found["verdicts"]}
        for other in others:
            ratios = [new / old for new, old in zip(middle[other], middle[policy])]
            told = [predicted[other][key]["value"] for key in ("makespan", "turnaround")]
            errors += [abs(one / real - 1) for one, real in zip(told, ratios)]
            noise = (spread[policy] + spread[other]) / middle[policy][1]
            differs = abs(ratios[1] - 1) > max(EFFECT_LEAST, noise)
            is_right = (ratios[1] < 1) == (told[1] < 1)
            pairs += differs
            right += differs and is_right
            mark = "" if not differs else "right" if is_right else "WRONG"
            print(f"{'+'.join(names):34} {policy:8} -> {other:8} makespan {told[0]:5.2f} ({ratios[0]:5.2f})"
                  f"  turnaround {told[1]:5.2f} ({ratios[1]:5.2f})  {mark}")
    if not again:
        sys.exit("no mixes in these journals")
    print(f"\nas it was: median error of the makespan {statistics.median(again):.3f}, largest {max(again):.3f}, "
          f"{len(again)} recordings (at most {ERROR_MOST})")
    if errors:
        print(f"other policies: median error of a ratio {statistics.median(errors):.3f}, {len(errors)} ratios")
    print(f"order of two policies right in {right} of {pairs} that differ (at least {RIGHT_LEAST:.0%})")
    holds = statistics.median(again) <= ERROR_MOST and pairs > 0 and right >= RIGHT_LEAST * pairs
    sys.exit(1 if args.check and not holds else 0)


if __name__ == "__main__":
    main()
