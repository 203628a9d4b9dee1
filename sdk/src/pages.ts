/** One page of a list, newest first. */
export type Page<T> = {
  readonly data: readonly T[]
  readonly nextCursor: string | null
  readonly hasMore: boolean
}

/** The position and size of a page. */
export type PageOptions = {
  /** Page size, 1 to 100. Default: 25. */
  readonly limit?: number | undefined
  /** `nextCursor` of the previous page. */
  readonly cursor?: string | undefined
}

/**
 * A paginated list. `for await` iterates over all items, fetching pages as needed; `await` returns only
 * the first page, whose `nextCursor` is the `cursor` of the next.
 */
export class List<T> implements AsyncIterable<T>, PromiseLike<Page<T>> {
  readonly #read: (cursor: string | undefined) => Promise<Page<T>>
  readonly #from: string | undefined

  constructor(read: (cursor: string | undefined) => Promise<Page<T>>, from?: string) {
    this.#read = read
    this.#from = from
  }

  // oxlint-disable-next-line unicorn/no-thenable -- awaiting a list reads its first page.
  then<A = Page<T>, B = never>(
    fulfilled?: ((page: Page<T>) => A | PromiseLike<A>) | null,
    rejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#read(this.#from).then(fulfilled, rejected)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, void> {
    let cursor = this.#from
    for (;;) {
      const page = await this.#read(cursor)
      yield* page.data
      if (!page.hasMore || page.nextCursor === null) return
      cursor = page.nextCursor
    }
  }

  /** All items in one array. */
  async all(): Promise<T[]> {
    const items: T[] = []
    for await (const item of this) items.push(item)
    return items
  }
}
