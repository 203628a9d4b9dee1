/** Loaded with the first picture. One thread an image: the machine has other things to do. */
export function loadSharp(): Promise<typeof import('sharp')> {
  sharpModule ??= import('sharp').then((module) => {
    module.default.cache(false)
    module.default.concurrency(1)
    return module
  })
  return sharpModule
}

let sharpModule: Promise<typeof import('sharp')> | undefined
