import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { openDatabase } from '../../server/src/db/database.ts'
import { moveReason } from '../../server/src/domain/disks/relocations.ts'
import { drainHost, undrainHost } from '../../server/src/domain/hosts/states.ts'
import { ApiError } from '../../server/src/errors.ts'
import { databaseUrl } from '../../server/src/host/postgres.ts'

/** Drains hosts as for their maintenance. Each call is repeated while the database does not answer. */
export type Operator = AsyncDisposable & {
  /** Resolves once the host is draining, or no other host could take its machines. */
  drain(host: string): Promise<void>
  /** Resolves once the host gets machines again. */
  undrain(host: string): Promise<void>
  /** How many running machines went to another host. */
  countMoves(): Promise<number>
}

const answerBoundMs = 180_000

export function openOperator(dataDir: string): Operator {
  const db = openDatabase(databaseUrl(dataDir), {
    log: pino({ level: 'silent' }),
    maxConnections: 1,
  })
  return {
    drain: (host) => persist(() => drainHost(db, host)),
    undrain: (host) => persist(() => undrainHost(db, host)),
    async countMoves() {
      const { count } = await db
        .selectFrom('machine_events')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .where('message', '=', moveReason)
        .executeTakeFirstOrThrow()
      return count
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  }
}

async function persist(act: () => Promise<unknown>): Promise<void> {
  const deadline = Date.now() + answerBoundMs
  for (;;) {
    const failure = await act().then(
      () => undefined,
      (error: unknown) => error,
    )
    if (failure === undefined || failure instanceof ApiError) return
    if (Date.now() > deadline) throw failure
    await delay(200)
  }
}
