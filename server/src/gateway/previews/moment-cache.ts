/** What was seen counts for so long; hints make most of it count for less. */
const momentMs = 900

type Look<Value> = {
  readonly began: number
  readonly found: Promise<Value>
  /** Undefined while it is under way. */
  value?: { readonly is: Value }
  isStale: boolean
}

/**
 * Spares the database the same question for each request. The moment begins before the database is
 * asked. Whoever waits for a look while a hint comes waits for the next one: no answer is older than
 * the last hint.
 */
export class MomentCache<Value> {
  readonly #load: (key: string) => Promise<Value>
  /** The oldest first. */
  readonly #looks = new Map<string, Look<Value>>()

  constructor(load: (key: string) => Promise<Value>) {
    this.#load = load
  }

  async find(key: string): Promise<Value> {
    for (;;) {
      const look = this.#looks.get(key)
      const fresh = look && performance.now() - look.began <= momentMs ? look : this.#look(key)
      const value = fresh.value ? fresh.value.is : await fresh.found
      if (!fresh.isStale) return value
    }
  }

  /** Forgets what the hint is about, and every look that is under way. */
  forget(isConcerned: (value: Value) => boolean): void {
    for (const [key, look] of this.#looks) {
      if (look.value && !isConcerned(look.value.is)) continue
      look.isStale = true
      this.#looks.delete(key)
    }
  }

  #look(key: string): Look<Value> {
    this.#dropOld()
    const look: Look<Value> = {
      began: performance.now(),
      found: this.#load(key),
      isStale: false,
    }
    this.#looks.delete(key)
    this.#looks.set(key, look)
    look.found.then(
      (is) => (look.value = { is }),
      () => {
        if (this.#looks.get(key) === look) this.#looks.delete(key)
      },
    )
    return look
  }

  #dropOld(): void {
    const oldest = performance.now() - momentMs
    for (const [key, { began }] of this.#looks) {
      if (began > oldest) return
      this.#looks.delete(key)
    }
  }
}
