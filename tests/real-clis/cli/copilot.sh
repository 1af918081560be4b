# shellcheck shell=bash disable=SC2034
# GitHub Copilot CLI with a key of one's own. Sourced by `run` and `trials`.

package=@github/copilot@1.0.102
provider=copilot
secret=OPENAI_API_KEY

# As users have it: a script of Node's that starts the native binary.
put_program() {
    ln -s "$SCRATCH/npm/node_modules/@github/copilot/npm-loader.js" "$work/bin/copilot"
}

write_section() {
    # Without the secret's name a service on this machine would be taken for one that wants no key.
    printf 'base_url = "%s/v1"\nsecret = "OPENAI_API_KEY"\nmodel = "gpt-5.1"\n' "$1"
}
