# shellcheck shell=bash disable=SC2034
# Codex. Sourced by `run` and `trials`.

package=@openai/codex@0.171.0
provider=codex
secret=OPENAI_API_KEY
# It has no tool that reads: it runs commands, and the service asks for one a launch.
paced_scenario=bucket-3-400000-per-6+tool-shell-findings
paced='.requests > 3 and .refused == 0 and .windows > 0'

# As users have it: a script of Node's that starts the native binary.
put_program() {
    ln -s "$SCRATCH/npm/node_modules/@openai/codex/bin/codex.js" "$work/bin/codex"
}

write_section() {
    printf 'base_url = "%s/v1"\nmodel = "gpt-5.1-codex"\n' "$1"
}
