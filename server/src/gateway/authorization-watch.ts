import type { App } from '../app.ts'
import { readRevocations } from '../domain/control/connection-authorization.ts'
import type { OpenConnections } from './open-connections.ts'
import { oneAtATime } from '../pace.ts'

/** What a lost hint may cost; what expires by the clock sends none. */
const pollMs = 500

const words = {
  unauthenticated: 'the credential has expired or was revoked',
  permissionDenied: 'the permission or the membership was lost',
  sessionClosed: 'the session was closed',
  gone: 'the machine was deleted',
} as const

/** Closes connections that lost what they stand on, within a second, until it is disposed of. */
export function watchAuthorization(
  app: Pick<App, 'db' | 'changes' | 'log'>,
  connections: OpenConnections,
): Disposable {
  async function look(): Promise<void> {
    const open = [...connections]
    if (open.length === 0) return
    try {
      const judge = await readRevocations(
        app.db,
        open.map(({ authorization }) => authorization),
      )
      for (const connection of open) {
        const loss = judge(connection.authorization)
        if (loss) connection.close(loss, words[loss])
      }
    } catch (error) {
      app.log.warn({ err: error }, 'connections were not looked after; the next look tries again')
    }
  }

  const wake = oneAtATime(look)
  const timer = setInterval(wake, pollMs)
  const unsubscribe = [
    app.changes.subscribe(wake, 'principals'),
    app.changes.subscribe((id) => {
      if ([...connections].some(({ authorization }) => authorization.machineId === id)) wake()
    }),
  ]
  return {
    [Symbol.dispose]() {
      clearInterval(timer)
      for (const end of unsubscribe) end()
    },
  }
}
