/** Loads sharp on first use. One thread per image, because the machine has other work to do. */
export function loadSharp(): Promise<typeof import('sharp')> {
  sharpModule ??= import('sharp').then((module) => {
    module.default.cache(false)
    module.default.concurrency(1)
    return module
  })
  return sharpModule
}

let sharpModule: Promise<typeof import('sharp')> | undefined
