#!/usr/bin/env bash
# Makes build/venv with NumPy and scikit-learn, for the programs and tests in Python.
# Where that is not possible it says so and succeeds: those programs and tests then say that they are skipped.
set -u
cd "$(dirname "$0")/.." || exit 1
venv=build/venv

complete() { "$venv/bin/python" -c 'import numpy, sklearn' 2>/dev/null; }
without() { echo "python: $1; what needs NumPy and scikit-learn is skipped"; exit 0; }

complete && { echo "python: $venv is complete"; exit 0; }
mkdir -p build
# A venv that broke half-way is made anew.
python3 -m venv --clear "$venv" >build/venv.log 2>&1 || without "no virtual environment could be made (see build/venv.log)"
timeout 600 "$venv/bin/pip" install -q --disable-pip-version-check --only-binary :all: numpy scikit-learn >>build/venv.log 2>&1 </dev/null
complete || without "pip could not fetch numpy and scikit-learn (see build/venv.log)"
echo "python: $venv is complete"
