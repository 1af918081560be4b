# shellcheck shell=bash disable=SC2034
# Gemini CLI. Sourced by `run` and `trials`.

package=@google/gemini-cli@0.61.0
provider=gemini
secret=GEMINI_API_KEY
# The service tells of limits only when it says no, so that the first time cannot be known before; it then speaks of 50 a
# minute, which is what this bucket lets through.
paced_scenario=bucket-10-400000-per-12+tool-read-4-findings
paced='.requests > 10 and .refused >= 1 and .refused <= 2 and .windows > 0'

put_program() {
    ln -s "$SCRATCH/npm/node_modules/@google/gemini-cli/bundle/gemini.js" "$work/bin/gemini"
}

write_section() {
    printf 'base_url = "%s"\n' "$1"
}

# It obeys files of the folder that it works in, so that the host refuses to start it in the repository itself.
in_place_exit=2
in_place='.requests == 0'
