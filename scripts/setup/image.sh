# The machine image, built from the recipe in image/ and kept by the hash of the recipe. A build's folder
# appears under that name when it is whole, or not at all.

image_cache=${COMPUTER_IMAGE_CACHE:-${COMPUTER_DATA:-/var/lib/computer}/images}
image_space_mb=6000

image_ready() {
  image_hash=$(bash "$repo/image/build.sh" --hash) && [ -n "$image_hash" ] ||
    fail 'machine image: its recipe cannot be read' 'Run `bash image/build.sh --hash` and see what it says.'
  [ -s "$image_cache/$image_hash/image.json" ] || return 1
  touch -c "$image_cache/$image_hash"
}

image_title() { echo "Machine image ${image_hash:0:12}: building (some minutes, once per recipe)"; }

image_make() {
  mkdir -p "$image_cache"
  exec 9>"$image_cache/.lock"
  if ! flock -n 9; then
    say '  another set-up is building it; waiting for it'
    flock 9
    if image_ready; then return; fi
  fi
  rm -rf --one-file-system "$image_cache"/*.building-*
  require_space
  attempt 'building the image' last_line bash "$repo/image/build.sh" "$image_cache/$image_hash" ||
    explain 'machine image' "Run \`bash image/build.sh DIR\` and see what it says."
  prune_images
  exec 9>&-
}

require_space() {
  local free
  free=$(df -m --output=avail "$image_cache" | tail -n 1)
  [ "$free" -ge "$image_space_mb" ] || fail \
    "machine image: $image_cache has $free MB free, the build needs $image_space_mb MB" \
    'Free some space, or set COMPUTER_IMAGE_CACHE to a folder that has it.'
}

# Images in the engine do not need these files any more; the two last used spare a change of branches.
prune_images() {
  find "$image_cache" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %p\n' | sort -rn |
    tail -n +4 | cut -d' ' -f2- | xargs -r -d '\n' rm -rf
}
