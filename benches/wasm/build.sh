#!/bin/sh
# Compiles the guests. ZIG is a Zig compiler: `python3 -m ziglang`, of the PyPI package `ziglang`.
set -eu
cd "$(dirname "$0")"
ZIG="${ZIG:-python3 -m ziglang}"

compile() {
    $ZIG cc -g0 -Wall -Wextra -Werror -Wl,-z,stack-size=65536 -Wl,--strip-all "$@"
}

# The first WebAssembly and what every engine has had for years: sign extension and conversions that
# saturate. Neither bulk memory nor SIMD, so that the instructions measured are the plain ones.
guest() {
    compile --target=wasm32-freestanding -mcpu=mvp+sign_ext+nontrapping_fptoint "$2" -fno-builtin \
        -fno-sanitize=all -nostdlib -Wl,--no-entry -o "$1.wasm" "$1.c"
}

guest loop -O0
for name in fib sha256 mandelbrot sort matmul json nbody; do
    guest "$name" -O2
done
for name in hello count; do
    compile --target=wasm32-wasi -Os -o "$name.wasm" "$name.c"
done
rm -f ./*.pdb ./*.o
ls -l ./*.wasm
