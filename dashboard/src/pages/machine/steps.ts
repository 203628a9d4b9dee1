import type { MachineRecord, MachineState } from '@computer/sdk'
import { machineTransitions } from '@computer/sdk/tables'
import { stateWords } from '../../words.ts'

export type Step = 'start' | 'stop' | 'restart' | 'fork' | 'delete'

const entered: Readonly<Record<Exclude<Step, 'fork'>, MachineState>> = {
  start: 'starting',
  stop: 'stopping',
  restart: 'stopping',
  delete: 'deleting',
}

/** Why the machine cannot take a step from its state, or undefined if it can. */
export function whyNot(
  step: Step,
  { name, state }: Pick<MachineRecord, 'name' | 'state'>,
): string | undefined {
  const may =
    step === 'fork' ? state === 'running' : machineTransitions[state].includes(entered[step])
  if (may) return undefined
  const is = `${name} is ${stateWords[state].toLowerCase()}`
  if (step === 'fork')
    return `${is}. Its disk can be forked while it runs, or from a snapshot at any time.`
  return `${is}.`
}
