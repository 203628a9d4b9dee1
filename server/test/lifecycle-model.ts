import { machineTransitions, type MachineState } from '@computer/contract'

/*
 * What one machine may do, in its plainest form: which calls it takes in each state, what it says to
 * those it does not take, and which events are the work of whom. It knows nothing of how the service
 * comes to it, so that a log and a handful of answers can be held against it.
 */

export const callKinds = ['start', 'stop', 'restart', 'delete', 'rename', 'resize'] as const
export type CallKind = (typeof callKinds)[number]

export type Answer = {
  readonly kind: CallKind
  readonly status: number
  readonly code: string | null
  readonly message: string
}
/** An event of the log, as far as the model looks at it. */
export type Step = {
  readonly type: string
  readonly from: string | null
  readonly to: string | null
  readonly isResize: boolean
}
/** A machine, and what its present move is to end in. */
export type World = { readonly state: MachineState; readonly wanted: 'running' | 'stopped' }

/** Where a call takes a machine, and from where; null: it moves none. */
const moves: Record<CallKind, { from: readonly MachineState[]; to: MachineState } | null> = {
  start: { from: ['stopped', 'error'], to: 'starting' },
  stop: { from: ['running'], to: 'stopping' },
  restart: { from: ['running'], to: 'stopping' },
  delete: {
    from: ['creating', 'running', 'stopping', 'stopped', 'starting', 'error', 'deleting'],
    to: 'deleting',
  },
  rename: null,
  resize: null,
}

/** Whether a machine that was in those states, one after the other, may have answered so. */
export function mayAnswer(answer: Answer, states: ReadonlySet<MachineState | 'gone'>): boolean {
  if (answer.status === 404) return states.has('gone')
  return [...states].some((state) => state !== 'gone' && isAnswerIn(state, answer))
}

function isAnswerIn(state: MachineState, { kind, status, code, message }: Answer): boolean {
  const move = moves[kind]
  if (move) {
    if (move.from.includes(state)) return status === 202
    return status === 409 && code === 'conflict' && names(message, state, move.to)
  }
  if (kind === 'resize' && state !== 'stopped') {
    return status === 412 && code === 'precondition_failed' && names(message, state)
  }
  return status === 200
}

function names(message: string, ...states: readonly string[]): boolean {
  return states.every((state) => new RegExp(`\\b${state}\\b`).test(message))
}

/** Whether the steps are a legal walk in which each accepted call did its part, once. */
export function isExplained(
  world: World,
  steps: readonly Step[],
  accepted: readonly CallKind[],
): boolean {
  const [step, ...rest] = steps
  // Asking again for what is being deleted is no error, and no event.
  if (!step) return accepted.every((kind) => kind === 'delete' && world.state === 'deleting')
  return causesOf(world, step).some(({ call, next }) => {
    if (call === null) return isExplained(next, rest, accepted)
    const index = accepted.indexOf(call)
    return index >= 0 && isExplained(next, rest, accepted.toSpliced(index, 1))
  })
}

/** Who may have done it: a call, or the service on its own. */
function causesOf(world: World, step: Step): { call: CallKind | null; next: World }[] {
  const { from, to } = step
  if (to === null) {
    if (step.type !== 'machine.updated') return [{ call: null, next: world }]
    if (!step.isResize) return [{ call: 'rename', next: world }]
    return world.state === 'stopped' ? [{ call: 'resize', next: world }] : []
  }
  const legal: readonly string[] = from === null ? ['creating'] : machineTransitions[world.state]
  if ((from !== null && from !== world.state) || !legal.includes(to)) return []
  const state = to as MachineState
  switch (state) {
    case 'stopping':
      return [
        { call: 'stop', next: { state, wanted: 'stopped' } },
        { call: 'restart', next: { state, wanted: 'running' } },
      ]
    case 'starting': {
      const isRestart = from === 'stopped' && world.wanted === 'running'
      return [{ call: isRestart ? null : 'start', next: { state, wanted: 'running' } }]
    }
    case 'deleting':
      return [{ call: 'delete', next: { state, wanted: 'stopped' } }]
    case 'stopped':
      return [{ call: null, next: { ...world, state } }]
    default:
      return [{ call: null, next: { state, wanted: 'stopped' } }]
  }
}
