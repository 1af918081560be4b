# shellcheck shell=bash disable=SC2034
# opencode. Sourced by `run` and `trials`.

package=opencode-ai@1.18.33
provider=opencode
secret=OPENAI_API_KEY

# The native binary: without the package's scripts its command is a stub.
put_program() {
    ln -s "$SCRATCH/npm/node_modules/opencode-linux-x64/bin/opencode" "$work/bin/opencode"
}

write_section() {
    printf 'base_url = "%s/v1"\nmodel = "gpt-5.1"\n' "$1"
}

# It obeys files of the folder that it works in, so that the host refuses to start it in the repository itself.
in_place_exit=2
in_place='.requests == 0'
