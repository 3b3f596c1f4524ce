#!/usr/bin/env bash
# Says what to do where Rust is missing or older than the workspace needs.
set -u
cd "$(dirname "$0")/.." || exit 1
needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
if ! command -v cargo >/dev/null 2>&1; then
    echo "rust: no cargo here: install Rust $needed or newer (rustup is the usual way), then try again" >&2
    exit 1
fi
found=$(cargo --version | cut -d ' ' -f 2)
oldest=$(printf '%s\n%s\n' "$needed" "${found%%-*}" | sort -V | head -n 1)
if [ "$oldest" != "$needed" ]; then
    echo "rust: cargo $found is here, $needed or newer is needed: rustup update stable" >&2
    exit 1
fi
