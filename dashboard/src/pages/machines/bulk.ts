import type { MachineRecord } from '@computer/sdk'
import { machineTransitions } from '@computer/sdk/tables'
import { deleteMachine, startMachine, stopMachine } from '../../api/machine-actions.ts'

export type BulkAction = 'start' | 'stop' | 'delete'

export type BulkResult = {
  readonly action: BulkAction
  readonly done: readonly MachineRecord[]
  readonly failed: readonly { readonly machine: MachineRecord; readonly error: unknown }[]
  /** Those that have no such step from their state. */
  readonly skipped: readonly MachineRecord[]
}

const nextStates = { start: 'starting', stop: 'stopping', delete: 'deleting' } as const
const runs = { start: startMachine, stop: stopMachine, delete: deleteMachine }
const atOnce = 6

/** Whether the machine may take this step from the state that it is in. */
export function allows(action: BulkAction, { state }: MachineRecord): boolean {
  return (machineTransitions[state] as readonly string[]).includes(nextStates[action])
}

/** Acts on every machine that may; one that fails does not keep the others. */
export async function runBulk(
  action: BulkAction,
  machines: readonly MachineRecord[],
): Promise<BulkResult> {
  const able = machines.filter((machine) => allows(action, machine))
  const done: MachineRecord[] = []
  const failed: { machine: MachineRecord; error: unknown }[] = []
  const queue = [...able]
  const work = async () => {
    for (let machine = queue.shift(); machine; machine = queue.shift()) {
      try {
        await runs[action](machine)
        done.push(machine)
      } catch (error) {
        failed.push({ machine, error })
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  const skipped = machines.filter((machine) => !able.includes(machine))
  return { action, done, failed, skipped }
}
