import type { MachineRow } from '../db/database.ts'
import { completeRestore, failRestore } from '../domain/disks/restores.ts'
import { reasonOf } from './failures.ts'
import type { WorkerApp } from './app.ts'
import { specOf } from './spec.ts'

/**
 * Puts a machine onto the disk it is restored to. What was to be kept of its disk of now has been
 * captured before this, so its programs are given no time to write more. The disk of the new generation is
 * made beside the old one, which goes when the row has changed over.
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
    app.log.warn(
      { err: error, machine_id: machine.id },
      'the disk of before a restore is still there',
    )
  }
}

/** The machine keeps the disk it has. */
export async function giveUpRestore(
  app: WorkerApp,
  machine: MachineRow,
  error: unknown,
): Promise<void> {
  const isRunning = (await app.driver.inspect(machine)) === 'running'
  const reason = isRunning ? 'the machine could not be stopped' : 'the disk could not be replaced'
  await failRestore(app, machine, { reason: reason + reasonOf(error), isRunning })
}
