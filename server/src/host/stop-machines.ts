import type { MachineDriver, MachineRef } from '../drivers/machine-driver.ts'
import type { Terminal } from './terminal.ts'

const graceMs = 30_000
const maxAtOnce = 8

/** Shuts down every running machine of the engine. Returns the number of failures. */
export async function stopAllMachines(
  driver: Pick<MachineDriver, 'list' | 'stop'>,
  terminal: Terminal,
): Promise<number> {
  const running = (await driver.list()).filter(({ state }) => state === 'running')
  const waiting = running.map(({ ref }) => ref)
  let stopped = 0
  let failed = 0
  const stopOne = async (ref: MachineRef) => {
    try {
      await driver.stop(ref, { graceMs })
      stopped += 1
    } catch (error) {
      failed += 1
      terminal.say(`could not stop ${ref.id}: ${(error as Error).message}`)
    }
    terminal.wait(`stopping machines: ${stopped} of ${running.length}`)
  }
  const work = async () => {
    for (let ref = waiting.pop(); ref; ref = waiting.pop()) await stopOne(ref)
  }
  await Promise.all(Array.from({ length: maxAtOnce }, work))
  terminal.say(running.length === 0 ? 'no machine was running' : `stopped ${stopped} machines`)
  return failed
}
