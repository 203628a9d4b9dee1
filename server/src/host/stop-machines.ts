import type { EngineMachine, MachineDriver } from '../drivers/machine-driver.ts'
import type { Terminal } from './terminal.ts'

const graceMs = 30_000
const maxAtOnce = 8

/**
 * Shuts down every running machine of the engine. Returns the number of failures. Those that wait frozen
 * (COMPUTER_WARM_MACHINES) are nobody's, and are not counted.
 */
export async function stopAllMachines(
  driver: Pick<MachineDriver, 'list' | 'stop'>,
  terminal: Terminal,
): Promise<number> {
  const running = (await driver.list()).filter(({ state }) => state === 'running')
  const waiting = [...running]
  const total = running.filter(({ isFrozen }) => !isFrozen).length
  let stopped = 0
  let failed = 0
  const stopOne = async ({ ref, isFrozen }: EngineMachine) => {
    try {
      await driver.stop(ref, { graceMs })
      if (!isFrozen) stopped += 1
    } catch (error) {
      failed += 1
      terminal.say(`could not stop ${ref.id}: ${(error as Error).message}`)
    }
    terminal.wait(`stopping machines: ${stopped} of ${total}`)
  }
  const work = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) await stopOne(next)
  }
  await Promise.all(Array.from({ length: maxAtOnce }, work))
  terminal.say(total === 0 ? 'no machine was running' : `stopped ${stopped} machines`)
  return failed
}
