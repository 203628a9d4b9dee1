import type { PreviewId } from '@computer/contract'
import type { App } from '../../app.ts'
import { TtlCache } from '../../cache.ts'
import { readCookies } from '../../domain/previews/credentials.ts'
import { findTarget, type PreviewTarget } from '../../domain/previews/hosts.ts'

/** The preview behind each label. */
export class TargetCache {
  readonly #app: Pick<App, 'db'>
  readonly #targets = new TtlCache<PreviewTarget | undefined>()

  constructor(app: Pick<App, 'db'>) {
    this.#app = app
  }

  find(label: string): Promise<PreviewTarget | undefined> {
    return this.#targets.get(label, () => findTarget(this.#app.db, label))
  }

  invalidateMachine(id: string): void {
    this.#targets.invalidate((target) => target?.machine_id === id)
  }
}

/** The preview that each access cookie opens. */
export class CookieCache {
  readonly #app: Pick<App, 'db'>
  readonly #previews = new TtlCache<PreviewId | undefined>()

  constructor(app: Pick<App, 'db'>) {
    this.#app = app
  }

  find(cookieHash: Buffer): Promise<PreviewId | undefined> {
    const key = cookieHash.toString('hex')
    return this.#previews.get(key, async () => {
      const previews = await readCookies(this.#app.db, [cookieHash])
      return previews.get(key)
    })
  }

  invalidate(): void {
    this.#previews.invalidate()
  }
}
