import type { App } from '../../app.ts'
import { readCookies } from '../../domain/previews/credentials.ts'
import { readPublished, type PreviewTarget } from '../../domain/previews/hosts.ts'
import { oneAtATime } from '../../pace.ts'

/** A request that is being answered, or an open WebSocket. */
export type ActiveRequest = {
  readonly target: PreviewTarget
  /** Of the cookie that it was let in by. */
  readonly cookieHash: Buffer | null
  /** Ends it in the middle. */
  cut(): void
}

/** What a lost hint may cost; what expires by the clock sends none. */
const pollMs = 500

/** Every open active of this process. Those that lost what they stand on are cut off. */
export class ActiveRequests implements Disposable {
  readonly #app: Pick<App, 'db' | 'log'>
  readonly #open = new Set<ActiveRequest>()
  readonly #timer: NodeJS.Timeout
  /** Looks at what each of them stands on. */
  readonly look = oneAtATime(() => this.#judge())

  constructor(app: Pick<App, 'db' | 'log'>) {
    this.#app = app
    this.#timer = setInterval(this.look, pollMs)
  }

  has(isMeant: (active: ActiveRequest) => boolean): boolean {
    return [...this.#open].some(isMeant)
  }

  add(active: ActiveRequest): void {
    this.#open.add(active)
  }

  remove(active: ActiveRequest): void {
    this.#open.delete(active)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  async #judge(): Promise<void> {
    const open = [...this.#open]
    if (open.length === 0) return
    try {
      const ids = new Set(open.map(({ target }) => target.id))
      const hashes = new Map(
        open.flatMap(({ cookieHash }) => (cookieHash ? [[keyOf(cookieHash), cookieHash]] : [])),
      )
      const [published, cookies] = await Promise.all([
        readPublished(this.#app.db, [...ids]),
        readCookies(this.#app.db, [...hashes.values()]),
      ])
      for (const active of open) {
        const { target, cookieHash } = active
        const isLetIn = cookieHash === null || cookies.has(keyOf(cookieHash))
        if (!published.has(target.id) || !isLetIn) active.cut()
      }
    } catch (error) {
      this.#app.log.warn(
        { err: error },
        'previews were not looked after; the next look tries again',
      )
    }
  }
}

function keyOf(hash: Buffer): string {
  return hash.toString('hex')
}
