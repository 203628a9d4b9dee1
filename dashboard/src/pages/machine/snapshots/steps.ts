import type { MachineRecord, Snapshot } from '@computer/sdk'
import { settledStates } from '@computer/sdk/tables'
import { useDenial } from '../../../api/session.ts'
import { stateWords } from '../../../words.ts'

/** Why nothing can be made from a snapshot, or undefined if it is ready. */
export function whyNotReady({ state, name }: Pick<Snapshot, 'state' | 'name'>): string | undefined {
  if (state === 'pending') return `“${name}” is still being taken.`
  if (state === 'error') return `“${name}” failed and holds no disk.`
  if (state === 'deleting') return `“${name}” is being deleted.`
  return undefined
}

/** Why a fork of the snapshot cannot be made. */
export function useForkDenial(snapshot: Snapshot, isMachineGone = false): string | undefined {
  const denied = useDenial('machines:create')
  if (denied) return denied
  if (isMachineGone)
    return 'Its machine is deleted. Make a template from the snapshot, and machines from that.'
  return whyNotReady(snapshot)
}

/** Why the machine cannot return to the snapshot. */
export function useRestoreDenial(
  snapshot: Snapshot,
  { name, state }: Pick<MachineRecord, 'name' | 'state'>,
): string | undefined {
  const denied = useDenial('machines:control')
  if (denied) return denied
  if (settledStates.includes(state)) return whyNotReady(snapshot)
  return `${name} is ${stateWords[state].toLowerCase()}. Wait until that is done.`
}

/**
 * Why the snapshot cannot be deleted: each builds on the one before it, so only the newest that holds a disk
 * can. `all` are those of its machine, newest first.
 */
export function blockerOf(snapshot: Snapshot, all: readonly Snapshot[]): string | undefined {
  if (snapshot.state === 'error') return undefined
  if (snapshot.state !== 'ready') return whyNotReady(snapshot)
  const newest = all.find(({ state }) => state === 'ready' || state === 'pending')
  if (!newest || newest.id === snapshot.id) return undefined
  return `Delete “${newest.name}” first: only the newest snapshot of a machine can be deleted.`
}
