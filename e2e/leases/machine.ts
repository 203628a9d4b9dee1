import type { MachineId } from '@computer/contract'
import { createApi } from '../../server/src/api/server.ts'
import type { App } from '../../server/src/app.ts'
import type { Database } from '../../server/src/db/database.ts'
import { expireLeases } from '../../server/src/domain/control/leases.ts'
import type { MachineRef } from '../../server/src/drivers/machine-driver.ts'
import { createGuestClient, type GuestClient } from '../../server/src/guest/client.ts'
import { callWith, type Call } from '../../server/test/call.ts'
import type { TestServer } from '../../server/test/harness.ts'
import { startAgent } from './agent.ts'
import { Gate } from './gate.ts'
import { startScreenGateway, type ScreenGateway } from './gateway.ts'
import { clientCount } from './history.ts'
import { createClock, openRecorder, type Clock, type Recorder } from './recorder.ts'

/**
 * A machine for histories: a real display and agent, and the server processes that call it, each over its
 * own connection, which can be held up: two APIs, the gateway and the worker's sweep. Database and domain
 * are real; only the engine between server and agent is missing.
 */
export type Machine = AsyncDisposable & {
  readonly id: MachineId
  readonly clock: Clock
  readonly recorder: Recorder
  /** The session of each client. */
  readonly sessions: readonly string[]
  readonly calls: readonly Call[]
  /** The same APIs for browsers, which send what they have. */
  readonly browsers: readonly Call[]
  readonly gates: readonly Gate[]
  readonly gateway: ScreenGateway
  /** Expires the current grant. Resolves to undefined if there is none. */
  expire(): Promise<ExpiredGrant | undefined>
  /** Notifies the gateway of a change, so that it need not wait for its poll. */
  notify(): void
  /** Resolves to whether a sweep ended the grant. Otherwise an acquisition took its place before. */
  sweep(grant: ExpiredGrant): Promise<boolean>
}

type ExpiredGrant = {
  readonly fence: number
  /** How many grants of the machine sweeps had ended before this one expired. */
  readonly earlier: number
}

/**
 * The options of a server for histories. Its own worker would end expired grants at agents that no history
 * looks at, and a history would take such a grant for ended by its own sweep.
 */
export const serverOptions = { timing: { sweepMs: 86_400_000 } }

export type MachineOptions = {
  /** Breaks the calls to agents, to prove that the checks notice. */
  readonly mistake?: (guests: GuestClient) => GuestClient
}

/**
 * A sweep handles the leases of all machines. Sweeps wait for each other: a concurrent second one would end
 * early, while the first is still calling an agent.
 */
let sweeping = Promise.resolve()
const agentSockets = new Map<MachineId, string>()

export async function startMachine(
  server: TestServer,
  { mistake = (guests) => guests }: MachineOptions = {},
): Promise<Machine> {
  await using stack = new AsyncDisposableStack()
  const { id } = await server.machine()
  const agent = stack.use(await startAgent())
  agentSockets.set(id, agent.socketPath)
  const clock = createClock()
  const recorder = stack.use(await openRecorder(agent.xSocketPath, clock))

  const startProcess = () => {
    const gate = new Gate()
    const connect = (ref: MachineRef) => gate.connect(agentSockets.get(ref.id)!)
    const guests = mistake(createGuestClient({ connect }))
    stack.defer(() => guests[Symbol.asyncDispose]())
    stack.defer(() => gate.open())
    return { gate, app: { ...server.app, guests } satisfies App }
  }
  const startApi = () => {
    const { gate, app } = startProcess()
    const http = stack.adopt(createApi(app), (one) => one.close())
    const call = callWith(http, { authorization: `Bearer ${server.key}` })
    return { gate, call, browser: callWith(http, {}) }
  }
  const [first, second, forGateway, worker] = [
    startApi(),
    startApi(),
    startProcess(),
    startProcess(),
  ]
  const sessions: string[] = []
  for (let client = 0; client < clientCount; client++) {
    const opened = await first.call('POST', '/v1/sessions', { machine_id: id })
    if (opened.status !== 201) throw new Error(JSON.stringify(opened.body))
    sessions.push(opened.body.id)
  }
  const gateway = stack.use(await startScreenGateway(forGateway.app, { id, key: server.key }))

  const owned = stack.move()
  const { db, changes } = server.app
  const countSwept = async (on: Database) => {
    const { count } = await on
      .selectFrom('machine_events')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('machine_id', '=', id)
      .where('type', '=', 'session.control_released')
      .where('message', '=', 'the lease expired')
      .executeTakeFirstOrThrow()
    return Number(count)
  }
  return {
    id,
    clock,
    recorder,
    sessions,
    calls: [first.call, second.call],
    browsers: [first.browser, second.browser],
    gates: [first.gate, second.gate, forGateway.gate],
    gateway,
    expire: () =>
      db.transaction().execute(async (tx) => {
        const past = new Date(0)
        const lost = await tx
          .updateTable('input_leases')
          .set({ expires_at: past })
          .where('machine_id', '=', id)
          .where('session_id', 'is not', null)
          .where('expires_at', '>', past)
          .returning('fence')
          .executeTakeFirst()
        // The row is locked, so no sweep can end the grant before the count.
        return lost && { fence: lost.fence, earlier: await countSwept(tx) }
      }),
    notify: () => changes.publish(id),
    async sweep({ earlier }) {
      await (sweeping = sweeping.then(() => expireLeases(worker.app)))
      return (await countSwept(db)) > earlier
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
