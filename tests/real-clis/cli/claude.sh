# shellcheck shell=bash disable=SC2034
# Claude Code. Sourced by `run` and `trials`.

package=@anthropic-ai/claude-code@2.1.332
provider=claude-code
secret=ANTHROPIC_API_KEY

# The native binary: without the package's scripts its command is a stub.
put_program() {
    ln -s "$SCRATCH/npm/node_modules/@anthropic-ai/claude-code-linux-x64/claude" "$work/bin/claude"
}

write_section() {
    printf 'base_url = "%s"\n' "$1"
}
