/** The right to work on a row, beside a few others. */
export type Slot = {
  /** Lets other rows go ahead while the work only waits for a guest, which may be silent on purpose. */
  away<T>(wait: () => Promise<T>): Promise<T>
}

/** Bounds how many rows are worked on at once. */
export function createSlots(max: number, onFree: () => void) {
  let taken = 0
  const returning: (() => void)[] = []
  const leave = () => {
    const next = returning.shift()
    if (next) return next()
    taken -= 1
    onFree()
  }
  const comeBack = async () => {
    if (taken >= max) return new Promise<void>((resolve) => returning.push(resolve))
    taken += 1
  }
  return {
    get free(): number {
      return max - taken
    },
    /** Takes a free slot for the work, and gives it back afterwards. */
    async use(work: (slot: Slot) => Promise<void>): Promise<void> {
      taken += 1
      try {
        await work({
          async away(wait) {
            leave()
            try {
              return await wait()
            } finally {
              await comeBack()
            }
          },
        })
      } finally {
        leave()
      }
    },
  }
}
