import { setTimeout as sleep } from 'node:timers/promises'
import type { MachineRow } from '../db/database.ts'
import { guestRef } from '../domain/guests/calls.ts'
import { hasNotMoved } from '../domain/machines/work-queue.ts'
import { DriverError } from '../drivers/machine-driver.ts'
import { deliverAtBoot } from './secrets.ts'
import type { WorkerApp } from './worker-app.ts'

const bootTimeoutMs = 90_000
const attemptTimeoutMs = 5_000

/**
 * Waits until the agent of a machine that was just started answers, delivers the machine's secrets and
 * then its name, which makes the agent release the boot to what users run there. Resolves to false
 * when the row moved meanwhile; throws when the machine went down or its agent never answered.
 */
export async function awaitBoot(
  app: WorkerApp,
  machine: MachineRow,
  timeoutMs = bootTimeoutMs,
): Promise<boolean> {
  const ref = guestRef(machine)
  const deadline = performance.now() + timeoutMs
  let hasSecrets = false
  for (;;) {
    try {
      const signal = AbortSignal.timeout(attemptTimeoutMs)
      if (!hasSecrets) await deliverAtBoot(app, machine, signal)
      hasSecrets = true
      await app.guests.setIdentity(ref, { machine: machine.id, hostname: machine.name }, { signal })
      return true
    } catch (error) {
      if (!(await hasNotMoved(app, machine))) return false
      if ((await app.driver.inspect(machine)) !== 'running') {
        const { reason } = await app.driver.lastExit(machine)
        throw new DriverError(`the machine went down while it booted: ${reason}`, {
          retryable: true,
          cause: error,
        })
      }
      if (performance.now() > deadline) {
        throw new DriverError('the machine booted but its agent never answered', {
          retryable: false,
          cause: error,
        })
      }
      await sleep(app.timing.bootPollMs)
    }
  }
}
