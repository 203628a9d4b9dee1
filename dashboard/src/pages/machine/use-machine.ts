import type { Machine, MachineRecord } from '@computer/sdk'
import { useSuspenseQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { knownMachine, machineQuery } from '../../api/machines.ts'

/** The machine of the open page: its record, which events keep current, and the SDK's handle on it. */
export function useMachine(): { readonly record: MachineRecord; readonly machine: Machine } {
  const { machineId } = useParams({ from: '/app/m/$machineId' })
  const { data: record } = useSuspenseQuery(machineQuery(machineId))
  return { record, machine: knownMachine(machineId) }
}

/** What a tab says instead of its content while the machine does not run, or undefined if it runs. */
export function notRunning({ name, state }: MachineRecord): string | undefined {
  if (state === 'running') return undefined
  if (state === 'creating' || state === 'starting')
    return `${name} is starting. This goes on by itself.`
  if (state === 'stopping') return `${name} is stopping.`
  if (state === 'deleting') return `${name} is being deleted.`
  return `${name} is ${state === 'error' ? 'in an error' : 'stopped'}. Start it first.`
}
