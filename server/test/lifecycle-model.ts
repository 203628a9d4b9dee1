import { machineTransitions, type MachineState } from '@computer/contract'

/*
 * A model of one machine: the calls it accepts, its responses to the others, and the calls or automatic
 * steps that cause each event. It is independent of the implementation, so logs and responses of the
 * service can be checked against it.
 */

export type CallKind =
  | ('start' | 'stop' | 'restart' | 'delete' | 'rename' | 'resize')
  | ('snapshot' | 'restore' | 'fork')

export type Answer = {
  readonly kind: CallKind
  readonly status: number
  readonly code: string | null
  readonly message: string
}
/** The part of a log event that the model uses. */
export type Step = {
  readonly type: string
  readonly from: string | null
  readonly to: string | null
  /** machine.updated: the size changed. snapshot.started: a call requested it. */
  readonly isSpecial: boolean
}
export type World = {
  readonly state: MachineState | 'gone'
  /** The state in which the current sequence of transitions is to end. */
  readonly wanted: 'running' | 'stopped'
  readonly isRestoring: boolean
}

/** The worlds that the steps lead through, including the first. */
export function worldsOf(first: World, steps: readonly Step[]): World[] {
  const worlds = [first]
  for (const step of steps) {
    const [cause] = causesOf(worlds.at(-1)!, step)
    if (cause) worlds.push(cause.next)
  }
  return worlds
}

/** Whether a machine that was in one of the worlds may have given the answer. */
export function mayAnswer(answer: Answer, worlds: readonly World[]): boolean {
  return worlds.some((world) => {
    const { status, code = null, names = [] } = answerOf(world, answer.kind)
    if (answer.status !== status || answer.code !== code) return false
    return names.every((name) => new RegExp(`\\b${name}\\b`).test(answer.message))
  })
}

/** Whether the steps are legal and contain the effect of each accepted call exactly once. */
export function isExplained(
  world: World,
  steps: readonly Step[],
  accepted: readonly CallKind[],
): boolean {
  const [step, ...rest] = steps
  if (!step) {
    const isEnding = world.state === 'deleting' || world.state === 'gone'
    // A fork writes no event of its source, and a repeated deletion succeeds without one.
    return accepted.every((kind) => kind === 'fork' || (kind === 'delete' && isEnding))
  }
  return causesOf(world, step).some(({ call, next }) => {
    if (call === null) return isExplained(next, rest, accepted)
    const index = accepted.indexOf(call)
    return index >= 0 && isExplained(next, rest, accepted.toSpliced(index, 1))
  })
}

type Expected = { readonly status: number; readonly code?: string; readonly names?: string[] }

function answerOf({ state, isRestoring }: World, kind: CallKind): Expected {
  if (state === 'gone') return { status: 404, code: 'not_found' }
  const illegal = (to: MachineState) => ({ status: 409, code: 'conflict', names: [state, to] })
  const inTheWay = { status: 409, code: 'conflict', names: [state, 'restore'] }
  const notNow = { status: 412, code: 'precondition_failed', names: [state] }
  const notYet = { status: 503, code: 'compute_unavailable', names: [state] }
  switch (kind) {
    case 'rename':
      return { status: 200 }
    case 'delete':
      return { status: 202 }
    case 'stop':
    case 'restart':
      return state === 'running' ? { status: 202 } : illegal('stopping')
    case 'start':
      if (state !== 'stopped' && state !== 'error') return illegal('starting')
      if (isRestoring) return { ...inTheWay, names: [...inTheWay.names, 'starting'] }
      return { status: 202 }
    case 'resize':
      if (state !== 'stopped') return notNow
      return isRestoring ? inTheWay : { status: 200 }
    case 'restore':
      if (isRestoring) return inTheWay
      return mayRestore(state) ? { status: 202 } : illegal('stopping')
    case 'snapshot':
    case 'fork':
      if (state === 'running') return { status: kind === 'fork' ? 201 : 202 }
      return state === 'creating' || state === 'starting' ? notYet : notNow
  }
}

function mayRestore(state: World['state']): boolean {
  return state === 'running' || state === 'stopped' || state === 'error'
}

type Cause = { readonly call: CallKind | null; readonly next: World }

/** The possible causes of a step: a call, or the service by itself. Empty for an illegal step. */
function causesOf(world: World, step: Step): Cause[] {
  return step.to === null ? causesOfNote(world, step) : causesOfMove(world, step.from, step.to)
}

function causesOfNote(world: World, { type, isSpecial }: Step): Cause[] {
  const { state, isRestoring } = world
  const onlyIf = (isLegal: boolean, call: CallKind | null, next: World) =>
    isLegal ? [{ call, next }] : []
  switch (type) {
    case 'machine.updated':
      if (!isSpecial) return [{ call: 'rename', next: world }]
      return onlyIf(state === 'stopped' && !isRestoring, 'resize', world)
    case 'snapshot.started':
      return onlyIf(!isSpecial || state === 'running', isSpecial ? 'snapshot' : null, world)
    case 'machine.restore_started':
      return onlyIf(mayRestore(state) && !isRestoring, 'restore', { ...world, isRestoring: true })
    case 'machine.restore_completed':
      return onlyIf(isRestoring, null, { ...world, isRestoring: false })
    case 'machine.deleted':
      return onlyIf(state === 'deleting', null, { ...world, state: 'gone', isRestoring: false })
    default:
      return [{ call: null, next: world }]
  }
}

function causesOfMove(world: World, from: string | null, to: string): Cause[] {
  if (world.state === 'gone' || from !== world.state) return []
  const legal: readonly string[] = machineTransitions[world.state]
  if (!legal.includes(to)) return []
  const next: World = { ...world, state: to as MachineState }
  switch (to as MachineState) {
    case 'stopping':
      if (world.isRestoring) return [{ call: null, next: { ...next, wanted: 'running' } }]
      return [
        { call: 'stop', next: { ...next, wanted: 'stopped' } },
        { call: 'restart', next: { ...next, wanted: 'running' } },
      ]
    case 'starting': {
      const isOnward = from === 'stopped' && world.wanted === 'running'
      return [{ call: isOnward ? null : 'start', next }]
    }
    case 'deleting':
      return [{ call: 'delete', next }]
    case 'stopped':
      return [{ call: null, next }]
    default:
      return [{ call: null, next: { ...next, wanted: 'stopped' } }]
  }
}
