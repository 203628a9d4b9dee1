# The machine image, built from the recipe in image/ and cached by the hash of the recipe. The folder of a
# build gets that name only when it is complete.

image_cache=${COMPUTER_IMAGE_CACHE:-${COMPUTER_DATA:-/var/lib/computer}/images}
image_space_mb=6000

image_ready() {
  image_hash=$(bash "$repo/image/build.sh" --hash) && [ -n "$image_hash" ] ||
    fail 'machine image: could not read the recipe' 'Run `bash image/build.sh --hash` to see the error.'
  [ -s "$image_cache/$image_hash/image.json" ] || return 1
  touch -c "$image_cache/$image_hash"
}

image_title() { echo "Machine image ${image_hash:0:12}: building (takes some minutes, once per recipe)"; }

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
    explain 'machine image' "Run \`bash image/build.sh DIR\` to see the error."
  prune_images
  exec 9>&-
}

require_space() {
  local free
  free=$(df -m --output=avail "$image_cache" | tail -n 1)
  [ "$free" -ge "$image_space_mb" ] || fail \
    "machine image: $image_cache has $free MB free, but the build needs $image_space_mb MB" \
    'Free some space, or set COMPUTER_IMAGE_CACHE to a folder on a larger disk.'
}

# An image that the engine has imported does not need these files. Keeping the last few avoids a rebuild
# when the branch changes.
prune_images() {
  find "$image_cache" -mindepth 1 -maxdepth 1 -type d -printf '%T@ %p\n' | sort -rn |
    tail -n +4 | cut -d' ' -f2- | xargs -r -d '\n' rm -rf
}
