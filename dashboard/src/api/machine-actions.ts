import type { CreateMachineOptions, MachineRecord } from '@computer/sdk'
import { computer } from './client.ts'
import { machineHandle, patchMachine, showMachine } from './machines.ts'
import { queryClient } from './query-client.ts'

/*
 * What changes a machine. Each resolves when the server has accepted it; events of the gateway show how it
 * goes on. None forgets a failure: it rejects with the server's error.
 */

type Target = Pick<MachineRecord, 'id'>

export async function startMachine({ id }: Target): Promise<void> {
  showMachine((await (await machineHandle(id)).start({ wait: false })).data)
}

/** A clean shutdown, or with `force` the power cut at once. */
export async function stopMachine({ id }: Target, force = false): Promise<void> {
  showMachine((await (await machineHandle(id)).stop({ wait: false, force })).data)
}

export async function restartMachine({ id }: Target): Promise<void> {
  showMachine((await (await machineHandle(id)).restart({ wait: false })).data)
}

/** Deletes it with its disk. Its snapshots stay unless they are to go along. */
export async function deleteMachine({ id }: Target, snapshots?: 'delete'): Promise<void> {
  const machine = await machineHandle(id)
  await machine.delete({ wait: false, ...(snapshots && { snapshots }) })
  patchMachine(id, (record) => ({ ...record, state: 'deleting' }))
}

export async function updateMachine(
  { id }: Target,
  change: { name?: string; size?: MachineRecord['size']; metadata?: Record<string, string> },
): Promise<void> {
  showMachine((await (await machineHandle(id)).update(change)).data)
}

/** A new machine from the disk of this one as it is now, or from one of its snapshots. Lists are read again. */
export async function forkMachine(
  { id }: Target,
  options: { name?: string; snapshotId?: string },
): Promise<MachineRecord> {
  const fork = await (await machineHandle(id)).fork({ ...options, wait: false })
  void queryClient.invalidateQueries({ queryKey: ['machines'] })
  return fork.data
}

/** The machine as it was accepted, before it runs. Lists are read again. */
export async function createMachine(options: CreateMachineOptions): Promise<MachineRecord> {
  const { data } = await computer.machines.create({ ...options, wait: false })
  void queryClient.invalidateQueries({ queryKey: ['machines'] })
  return data
}
