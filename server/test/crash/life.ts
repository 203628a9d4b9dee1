/*
 * A worker that can be ended at a chosen moment. Every call it makes to the engine or to a guest and
 * every row it writes passes through its life, which counts them and ends at one of them: from then
 * on whatever the worker still tries fails without effect, transactions included.
 */

/** The nth time, since the life was armed, that something of that name was done. */
export type Point = { readonly name: string; readonly nth: number }

export type Ending =
  /** Dead before it had any effect. */
  | 'before'
  /** Dead in the middle of it: what is left then, the test says. */
  | 'amid'
  /** Dead when it had its effect, and before the answer was known. */
  | 'after'
  /** Alive and held up for so long that somebody else does the work; then it goes on. */
  | 'stalled'
  /** Alive, and it is done twice. */
  | 'twice'

export type Fate = { readonly at: Point; readonly ending: Ending }
/** A call to the engine or to a guest. */
export type Call = {
  readonly name: string
  make(): Promise<unknown>
  /** Leaves what it leaves when it breaks off. */
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
  /** What an answer tells a worker that died while it waited for it: nothing. */
  const live = async <T>(make: () => Promise<T>): Promise<T> => {
    requireAlive()
    const answer = await make()
    requireAlive()
    return answer
  }

  return {
    /** From now on what is done is counted, and the fate waits for its moment. */
    arm(next: Fate | null) {
      points = []
      fate = next
      met = Promise.withResolvers()
    },
    /** Ends the counting, and answers what was done since it began. */
    disarm(): readonly Point[] {
      const counted = points ?? []
      points = null
      return counted
    },
    /** Resolves when the fate has found its moment. */
    met: () => met.promise,
    /** Whoever is held up goes on. */
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

/** What a worker that died meets wherever it turns. */
class Dead extends Error {
  override name = 'Dead'
}
