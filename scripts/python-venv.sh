#!/usr/bin/env bash
# Makes build/venv for the programs and tests in Python: with NumPy and scikit-learn, with the small ones of the
# libraries that the package for Python can follow, with those that the benchmark runs side by side, with a ninja
# that knows jobservers, for the tests of builds, with Perfetto's definitions, for the tests of traces, and with the
# schemas of Kubernetes, for the tests of the manifests.
# Where that is not possible it says so and succeeds: those programs and tests then say that they are skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
venv=build/venv

complete() { "$venv/bin/python" -c 'import numpy, sklearn' 2>/dev/null; }
without() { echo "python: $1; what needs NumPy and scikit-learn is skipped"; exit 0; }
fetch() { timeout 600 "$venv/bin/pip" install -q --disable-pip-version-check --only-binary :all: "$@" >>build/venv.log 2>&1 </dev/null; }

# torch is several gigabytes: whoever has it in the venv has its test run, too.
followed() { "$venv/bin/python" -c 'import dask, duckdb, joblib, numba, xdist' 2>/dev/null; }
# xgboost-cpu is xgboost without its gigabyte for graphics processors; tbb is the library that a layer of numba needs.
side_by_side() { "$venv/bin/python" -c 'import lightgbm, polars, xgboost, numba.np.ufunc.tbbpool' 2>/dev/null; }
jobserver() { grep -q -e '--jobserver-auth=' "$venv/bin/ninja" 2>/dev/null; }
definitions() { "$venv/bin/python" -c 'import perfetto.protos.perfetto.trace.perfetto_trace_pb2' 2>/dev/null; }
schemas() { "$venv/bin/python" -c 'import kubernetes_validate' 2>/dev/null; }
fetch_extras() {
    followed || fetch dask duckdb joblib numba pytest pytest-xdist
    followed || echo "python: pip could not fetch dask, duckdb, numba and pytest-xdist (see build/venv.log); what needs them is skipped"
    side_by_side || fetch lightgbm polars tbb xgboost-cpu
    side_by_side || echo "python: pip could not fetch lightgbm, polars, tbb and xgboost (see build/venv.log); what needs them is skipped"
    jobserver || fetch 'ninja>=1.13'
    jobserver || echo "python: pip could not fetch ninja (see build/venv.log); what needs it is skipped"
    definitions || fetch perfetto
    schemas || fetch 'kubernetes-validate>=1.30'
    schemas || echo "python: pip could not fetch kubernetes-validate (see build/venv.log); what needs it is skipped"
    definitions || echo "python: pip could not fetch perfetto (see build/venv.log); what needs it is skipped"
}

complete && { fetch_extras; echo "python: $venv is complete"; exit 0; }
mkdir -p build
# A venv that broke half-way is made anew.
python3 -m venv --clear "$venv" >build/venv.log 2>&1 || without "no virtual environment could be made (see build/venv.log)"
fetch numpy scikit-learn
fetch_extras
complete || without "pip could not fetch numpy and scikit-learn (see build/venv.log)"
echo "python: $venv is complete"
