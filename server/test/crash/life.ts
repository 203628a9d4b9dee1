/*
 * A worker that can be killed at a chosen step. Every call it makes to the engine or a guest and every
 * row it writes passes through its life, which counts them and ends at one of them: from then on every
 * attempt of the worker fails without effect, transactions included.
 */

/** The nth step of a name since the life was armed. */
export type Point = { readonly name: string; readonly nth: number }

export type Ending =
  /** The worker dies before the step has any effect. */
  | 'before'
  /** The worker dies in the middle of the step, with the leftovers of `breakOff`. */
  | 'amid'
  /** The worker dies after the effect of the step and before its answer. */
  | 'after'
  /** The worker stalls until another has done the work, and then goes on. */
  | 'stalled'
  /** The step is done twice. */
  | 'twice'

export type Fate = { readonly at: Point; readonly ending: Ending }
/** A call to the engine or to a guest. */
export type Call = {
  readonly name: string
  make(): Promise<unknown>
  /** Produces the leftovers of an interrupted call. */
  breakOff(): void
}
export type Life = ReturnType<typeof beginLife>

export function beginLife() {
  let points: Point[] | null = null
  let fate: Fate | null = null
  let met = Promise.withResolvers<void>()
  let isDead = false
  const stall = Promise.withResolvers<void>()

  const requireAlive = () => {
    if (isDead) throw new Dead()
  }
  const die = (): never => {
    isDead = true
    met.resolve()
    throw new Dead()
  }
  const endingAt = (name: string): Ending | null => {
    requireAlive()
    if (!points) return null
    const nth = points.filter((point) => point.name === name).length + 1
    points.push({ name, nth })
    return fate?.at.name === name && fate.at.nth === nth ? fate.ending : null
  }
  /** A worker that dies while it waits for an answer does not get it. */
  const live = async <T>(make: () => Promise<T>): Promise<T> => {
    requireAlive()
    const answer = await make()
    requireAlive()
    return answer
  }

  return {
    /** Starts to count steps, and sets the fate. */
    arm(next: Fate | null) {
      points = []
      fate = next
      met = Promise.withResolvers()
    },
    /** Stops counting. Returns the steps counted. */
    disarm(): readonly Point[] {
      const counted = points ?? []
      points = null
      return counted
    },
    /** Resolves when the fate has struck. */
    met: () => met.promise,
    /** Lets a stalled worker go on. */
    resume: () => stall.resolve(),

    live,
    requireAlive,
    async call({ name, make, breakOff }: Call): Promise<unknown> {
      switch (endingAt(name)) {
        case null:
          return live(make)
        case 'before':
          return die()
        case 'amid':
          breakOff()
          return die()
        case 'after':
          await make()
          return die()
        case 'stalled':
          met.resolve()
          await stall.promise
          return live(make)
        case 'twice':
          await make()
          met.resolve()
          return live(make)
      }
    },
    /** A row that is about to be written. */
    write(name: string): void {
      if (endingAt(name)) die()
    },
  }
}

/** The error of every attempt of a dead worker. */
class Dead extends Error {
  override name = 'Dead'
}
