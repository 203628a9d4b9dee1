/** Bounds the age of an entry when an invalidation is lost: revocations must apply within a second. */
const ttlMs = 900

type Entry<Value> = {
  readonly startedMs: number
  readonly loading: Promise<Value>
  /** Undefined while it is loading. */
  loaded?: { readonly value: Value }
  isInvalid: boolean
}

/**
 * A cache with a TTL, single flight and invalidation. The TTL begins before the load does, however
 * long that takes. Loads in progress are invalidated too, and their callers wait for the next load, so
 * no caller gets a value from before the last invalidation. Failures are not cached.
 */
export class TtlCache<Value> {
  readonly #now: () => number
  /** Oldest first. */
  readonly #entries = new Map<string, Entry<Value>>()

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** Returns the cached value, or what `load` returns. Concurrent calls share one load. */
  async get(key: string, load: () => Promise<Value>): Promise<Value> {
    for (;;) {
      const cached = this.#entries.get(key)
      const entry = cached && this.#isFresh(cached) ? cached : this.#load(key, load)
      const value = entry.loaded ? entry.loaded.value : await entry.loading
      if (!entry.isInvalid) return value
    }
  }

  /** Drops the values that match, and every load in progress. */
  invalidate(matches: (value: Value) => boolean = () => true): void {
    for (const [key, entry] of this.#entries) {
      if (entry.loaded && !matches(entry.loaded.value)) continue
      entry.isInvalid = true
      this.#entries.delete(key)
    }
  }

  #load(key: string, load: () => Promise<Value>): Entry<Value> {
    this.#dropExpired()
    const entry: Entry<Value> = {
      startedMs: this.#now(),
      loading: load(),
      isInvalid: false,
    }
    // Deleted first, to keep the order of the map by age.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    entry.loading.then(
      (value) => (entry.loaded = { value }),
      () => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key)
      },
    )
    return entry
  }

  #dropExpired(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#isFresh(entry)) return
      this.#entries.delete(key)
    }
  }

  #isFresh({ startedMs }: Entry<Value>): boolean {
    return this.#now() - startedMs < ttlMs
  }
}
