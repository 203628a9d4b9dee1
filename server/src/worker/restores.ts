import type { MachineRow } from '../db/database.ts'
import { completeRestore, failRestore } from '../domain/disks/restores.ts'
import { reasonOf } from './failures.ts'
import { specOf } from './spec.ts'
import type { WorkerApp } from './worker-app.ts'

/**
 * Swaps the disk of a machine for the one it is restored to. The current disk has been captured before
 * this, so its programs get no time to write more. The disk of the new generation is made beside the
 * old one, which is destroyed once the row names the new generation.
 */
export async function swapDisk(app: WorkerApp, machine: MachineRow): Promise<void> {
  const { driver } = app
  if ((await driver.inspect(machine)) === 'running') {
    await driver.stop(machine, { graceMs: 0 })
  }
  const { last_generation: generation, restore_capture_id: captureId } = machine
  await driver.create({ ...specOf(app, machine), generation, captureId })
  await completeRestore(app, machine)
  try {
    await driver.destroy(machine)
  } catch (error) {
    const fields = { err: error, machine_id: machine.id }
    app.log.warn(fields, 'could not remove the old disk of a restored machine; a sweep will')
  }
}

/** Ends a restore that failed. The machine keeps the disk it has. */
export async function giveUpRestore(
  app: WorkerApp,
  machine: MachineRow,
  error: unknown,
): Promise<void> {
  const isRunning = (await app.driver.inspect(machine)) === 'running'
  const reason = isRunning ? 'the machine could not be stopped' : 'the disk could not be replaced'
  await failRestore(app, machine, { reason: reason + reasonOf(error), isRunning })
}
