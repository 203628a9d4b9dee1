import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildGuestAgent } from '../../guest-agent/build.ts'
import { createIncusDriver } from '../../server/src/drivers/incus/driver.ts'
import type { MachineDriver, MachineSpec } from '../../server/src/drivers/machine-driver.ts'
import type { GuestRef } from '../../server/src/guest/channels.ts'
import { createGuestClient, type GuestClient } from '../../server/src/guest/client.ts'
import { startTestEngine, type TestEngine } from './engine.ts'

/** Machines of a test engine with the agent in them, but no server: nobody sends them their identity. */
export type AgentMachines = AsyncDisposable & {
  readonly engine: TestEngine
  readonly driver: MachineDriver
  readonly guests: GuestClient
  /** Starts a machine. Its agent may not answer yet. */
  start(spec: MachineSpec): Promise<void>
  /** The present boot. */
  refOf(spec: MachineSpec): GuestRef
  /** Runs a shell script as root, and resolves to its output. */
  run(spec: MachineSpec, script: string): Promise<string>
}

export async function startAgentMachines(project: string): Promise<AgentMachines> {
  await using started = new AsyncDisposableStack()
  const engine = started.use(await startTestEngine())
  const guestDir = await mkdtemp(join(tmpdir(), 'computer-guest-'))
  started.defer(() => rm(guestDir, { recursive: true }))
  await chmod(guestDir, 0o755)
  await buildGuestAgent(guestDir)
  const driver = started.use(createIncusDriver({ ...engine.optionsOf(project), guestDir }))
  const guests = started.use(createGuestClient(driver))
  await driver.prepare()
  await driver.addImage(engine.imageId, engine.imageFiles)

  const boots = new Map<string, number>()
  const refOf = ({ id, generation }: MachineSpec) => {
    return { id, generation, host: 'local', run: String(boots.get(id)) }
  }
  const kept = started.move()
  return {
    engine,
    driver,
    guests,
    refOf,
    async start(spec) {
      await driver.start(spec)
      boots.set(spec.id, (boots.get(spec.id) ?? 0) + 1)
    },
    async run(spec, script) {
      const command = ['sh', '-c', script]
      return (await guests.exec(refOf(spec), { command, user: 'root' })).stdout
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}
