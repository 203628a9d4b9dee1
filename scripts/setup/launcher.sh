# `computer` in the PATH: a link to cli/bin/computer of this checkout, for the operator of this host.

launcher=/usr/local/bin/computer

# Makes the link unless it is there. Keeps a file of another program, and the link to another checkout.
link_launcher() {
  local own=$repo/cli/bin/computer target
  target=$(readlink "$launcher" || true)
  if [ "$target" = "$own" ]; then return; fi
  if [ -e "$launcher" ] || { [ -L "$launcher" ] && [ "${target%/cli/bin/computer}" = "$target" ]; }; then
    say "\`computer\` is not this checkout: $launcher exists. Use $own, or remove that file and run this again."
  elif mkdir -p "${launcher%/*}" 2>/dev/null && ln -sfn "$own" "$launcher" 2>/dev/null; then
    say "The command \`computer\` is now $launcher"
  else
    say "Could not write $launcher. Use $own, or link to it from a folder of your PATH."
  fi
}
