# shellcheck shell=bash disable=SC2034
# Qwen Code. Sourced by `run` and `trials`.

package=@qwen-code/qwen-code@0.24.4
provider=qwen
secret=OPENAI_API_KEY

# As users have it: a script that starts a second process.
put_program() {
    ln -s "$SCRATCH/npm/node_modules/@qwen-code/qwen-code/cli-entry.js" "$work/bin/qwen"
}

write_section() {
    printf 'base_url = "%s/v1"\nsecret = "OPENAI_API_KEY"\nmodel = "qwen3-coder-plus"\n' "$1"
}

# It obeys files of the folder that it works in, so that the host refuses to start it in the repository itself.
in_place_exit=2
in_place='.requests == 0'
