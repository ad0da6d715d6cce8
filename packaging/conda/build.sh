#!/bin/bash
set -euo pipefail

cargo-bundle-licenses --format yaml --output THIRDPARTY.yml
cargo install --locked --no-track --path . --root "$PREFIX"

# Completions and man pages, made by the command itself.
"$PREFIX/bin/cdimc" manual --output manual
install -Dm644 -t "$PREFIX/share/man/man1" manual/*.1
install -Dm644 manual/cdimc.bash "$PREFIX/share/bash-completion/completions/cdimc"
install -Dm644 manual/cdimc.zsh "$PREFIX/share/zsh/site-functions/_cdimc"
install -Dm644 manual/cdimc.fish "$PREFIX/share/fish/vendor_completions.d/cdimc.fish"
