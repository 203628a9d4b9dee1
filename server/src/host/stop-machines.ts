import type { MachineDriver, MachineRef } from '../drivers/machine-driver.ts'
import type { Terminal } from './terminal.ts'

const graceMs = 30_000
const atOnce = 8

/** Shuts down every machine of the engine that runs. Says how many could not be. */
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
      terminal.say(`${ref.id} could not be stopped: ${(error as Error).message}`)
    }
    terminal.wait(`stopping machines: ${stopped} of ${running.length}`)
  }
  const work = async () => {
    for (let ref = waiting.pop(); ref; ref = waiting.pop()) await stopOne(ref)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  terminal.say(running.length === 0 ? 'no machine was running' : `stopped ${stopped} machines`)
  return failed
}
