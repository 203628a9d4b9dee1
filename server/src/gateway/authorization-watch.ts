import type { App } from '../app.ts'
import { recheckAuthorization } from '../domain/control/connection-authorization.ts'
import { coalesce } from '../pace.ts'
import type { OpenConnections } from './open-connections.ts'

/** Bounds the delay when a NOTIFY is lost, and catches expiry by time, which sends none. */
const pollMs = 500

const closeMessages = {
  unauthenticated: 'the credential expired or was revoked',
  permissionDenied: 'the permission or the membership was lost',
  sessionClosed: 'the session was closed',
  gone: 'the machine was deleted',
} as const

/** Closes connections within a second of losing their authorization, until it is disposed of. */
export function watchAuthorization(
  app: Pick<App, 'db' | 'changes' | 'log'>,
  connections: OpenConnections,
): Disposable {
  async function recheck(): Promise<void> {
    const open = [...connections]
    if (open.length === 0) return
    try {
      const authorizations = open.map(({ authorization }) => authorization)
      const revocationOf = await recheckAuthorization(app.db, authorizations)
      for (const connection of open) {
        const reason = revocationOf(connection.authorization)
        if (reason) connection.close(reason, closeMessages[reason])
      }
    } catch (error) {
      app.log.warn({ err: error }, 'could not recheck the authorization of connections; will retry')
    }
  }

  const wake = coalesce(recheck)
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
