#!/bin/sh
# Makes in DIRECTORY what the linker is to take for glibc 2.17, of the glibc that is here, and a file `flags` with what the compiler is
# told for it. Where there is no glibc, or another architecture, that file is empty, and the system's own libraries are linked.
#
# Why so: the linker asks for the default version of each symbol, and that is all that makes a program too new for an older system.
# Copies of the libraries that are here, with other defaults, need nothing but a compiler, serve Rust and C alike, and refuse what
# glibc 2.17 has not. Directives in the sources (.symver) do not reach the objects of Rust; another toolchain is a large download.
#
# usage: libraries.sh DIRECTORY     CC compiles for the machine that is linked for, HOSTCC for this one (default: CC)
set -eu
to=$1 here=$(dirname "$0")
cc=${CC:-gcc}
flags="-O2 -g -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fPIC -fno-stack-protector"

mkdir -p "$to"
: >"$to/flags.new"
finish() { mv "$to/flags.new" "$to/flags"; exit; }
case $($cc -dumpmachine) in
x86_64-*linux-gnu | aarch64-*linux-gnu | x86_64-*-linux | aarch64-*-linux) ;;
*) finish ;;
esac
script=$($cc -print-file-name=libc.so)
grep -qs 'GROUP.*libc\.so\.6' "$script" || finish

${HOSTCC:-$cc} $flags "$here/hide.c" -o "$to/hide"
for library in libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2; do
    "$to/hide" "$($cc -print-file-name=$library)" "$to/$library"
    [ $library = libc.so.6 ] || ln -sf $library "$to/${library%.so.*}.so"
done

# What glibc 2.17 put into programs themselves.
parts=
for part in start stat numbers; do
    $cc $flags -c "$here/$part.c" -o "$to/$part.o"
    parts="$parts $to/$part.o"
done
rm -f "$to/libc_2.17.a"
$($cc -print-prog-name=ar) rcs "$to/libc_2.17.a" $parts
# It stands before the library, so that its start comes before the library's.
sed 's|[^ (]*/libc\.so\.6|libc_2.17.a libc.so.6|' "$script" >"$to/libc.so"

# Until glibc 2.34 functions of threads and of dlopen were in libraries of their own.
echo "\"-L$to\" -Wl,--push-state,--no-as-needed,-lpthread,-ldl,--pop-state" >"$to/flags.new"
finish
