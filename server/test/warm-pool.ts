import type { MachineId } from '@computer/contract'
import { listWarm } from '../src/domain/machines/warm-machines.ts'
import { startTestServer, type Answer, type Lifetime, type TestServer } from './harness.ts'
import { eventually } from './settled.ts'

/** A server that keeps warm machines, once they are ready. */
export async function startWithPool(
  t: Lifetime,
  count = 1,
  timing: NonNullable<Parameters<typeof startTestServer>[1]>['timing'] = {},
) {
  const server = await startTestServer(t, {
    env: { COMPUTER_WARM_MACHINES: String(count) },
    plan: 'startup',
    timing,
  })
  const [first] = await untilReady(server, count)
  return { server, warm: first! }
}

/** The ids of machines that wait, once there are so many. */
export async function untilReady(
  { app }: Pick<TestServer, 'app'>,
  count: number,
): Promise<MachineId[]> {
  return eventually(async () => {
    const ready = (await listWarm(app.db)).filter(({ state }) => state === 'ready')
    return ready.length === count ? ready.map(({ id }) => id) : undefined
  })
}

/** A new machine with all of its fields, once it is at rest. */
export function create(
  server: TestServer,
  input: Record<string, unknown> = {},
): Promise<Answer['body']> {
  return server.machine(input)
}

/** Undefined for a machine that the engine does not have. */
export async function isFrozen({ app }: TestServer, id: MachineId): Promise<boolean | undefined> {
  return (await app.driver.list()).find(({ ref }) => ref.id === id)?.isFrozen
}
