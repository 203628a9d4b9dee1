import type { App } from '../../app.ts'
import { readCookies } from '../../domain/previews/credentials.ts'
import { readPublished, type PreviewTarget } from '../../domain/previews/hosts.ts'
import { coalesce } from '../../pace.ts'

/** A request that is being served, or an open WebSocket. */
export type ActiveRequest = {
  readonly target: PreviewTarget
  /** The cookie that admitted it; null for a public preview or a secret. */
  readonly cookieHash: Buffer | null
  abort(): void
}

/** Bounds the delay when a NOTIFY is lost, and catches expiry by time, which sends none. */
const pollMs = 500

/** The active requests of this process. Aborts those that lose their access while they are open. */
export class ActiveRequests implements Disposable {
  readonly #app: Pick<App, 'db' | 'log'>
  readonly #open = new Set<ActiveRequest>()
  readonly #timer: NodeJS.Timeout
  readonly recheck = coalesce(() => this.#recheck())

  constructor(app: Pick<App, 'db' | 'log'>) {
    this.#app = app
    this.#timer = setInterval(this.recheck, pollMs)
  }

  some(matches: (request: ActiveRequest) => boolean): boolean {
    return [...this.#open].some(matches)
  }

  add(request: ActiveRequest): void {
    this.#open.add(request)
  }

  remove(request: ActiveRequest): void {
    this.#open.delete(request)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  async #recheck(): Promise<void> {
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
      for (const request of open) {
        const { target, cookieHash } = request
        const isAdmitted = cookieHash === null || cookies.has(keyOf(cookieHash))
        if (!published.has(target.id) || !isAdmitted) request.abort()
      }
    } catch (error) {
      this.#app.log.warn({ err: error }, 'could not recheck access to previews; will retry')
    }
  }
}

function keyOf(hash: Buffer): string {
  return hash.toString('hex')
}
