import { ApiError, type LeaseHolder, type Machine } from '@computer/sdk'
import { findActiveHelp } from './active-help.ts'
import { explainActive } from './help-text.ts'
import { ToolError } from './tool-error.ts'

/**
 * The input leases of one client.
 *
 * The SDK acquires the lease of a machine at the first input and renews it. The pool releases it when
 * idle, and never takes a lost lease back by force: the model gets one error per loss, and its next
 * input acquires the lease only if it is free by then.
 */
export class LeasePool implements AsyncDisposable {
  readonly #releaseAfterMs: number
  readonly #queues = new Map<string, MachineQueue>()
  #lastFind: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(releaseAfterMs: number) {
    this.#releaseAfterMs = releaseAfterMs
  }

  /**
   * Sends input to a machine. Calls for one machine run in order of arrival, because a model may
   * request a click and the text to type there in parallel.
   */
  async use(
    find: () => Promise<Machine>,
    act: (machine: Machine) => Promise<void>,
  ): Promise<Machine> {
    const finding = this.#lastFind.then(find)
    this.#lastFind = finding.catch(() => {})
    const machine = await finding
    const queue = this.#queueOf(machine.id)
    clearTimeout(queue.releaseTimer)
    queue.pending++
    const acting = queue.last.then(() => this.#act(machine, () => act(machine)))
    queue.last = acting.catch(() => {})
    try {
      await acting
      return machine
    } finally {
      if (--queue.pending === 0) this.#releaseLater(machine, queue)
    }
  }

  /** Leaves a machine to a person, after pending input: later input acquires its lease as the first did. */
  async handOver(machine: Machine): Promise<void> {
    const queue = this.#queueOf(machine.id)
    clearTimeout(queue.releaseTimer)
    await this.#release(machine, queue)
  }

  /** Waits for pending input. The SDK client releases the leases themselves. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const queues = [...this.#queues.values()]
    this.#queues.clear()
    for (const { releaseTimer } of queues) clearTimeout(releaseTimer)
    await Promise.all(queues.map(({ last }) => last))
  }

  async #act(machine: Machine, act: () => Promise<void>): Promise<void> {
    // Nothing would release a lease acquired from here on.
    if (this.#isClosed) throw new ToolError('The client has disconnected.')
    try {
      await act()
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'conflict')) throw error
      // Lets the next input acquire the lease again if it is free.
      await machine.input.release()
      throw await explainLoss(machine, error.holder)
    }
  }

  #queueOf(machineId: string): MachineQueue {
    const queue = this.#queues.get(machineId) ?? {
      last: Promise.resolve(),
      pending: 0,
      releaseTimer: undefined,
    }
    this.#queues.set(machineId, queue)
    return queue
  }

  #releaseLater(machine: Machine, queue: MachineQueue): void {
    if (this.#queues.get(machine.id) !== queue) return
    const release = () => void this.#release(machine, queue)
    queue.releaseTimer = setTimeout(release, this.#releaseAfterMs)
    queue.releaseTimer.unref()
  }

  async #release(machine: Machine, queue: MachineQueue): Promise<void> {
    // Close the session as well: a plan limits how many may be open.
    const closing = queue.last.then(() => machine.input.close())
    // A lease that could not be released expires, because it is no longer renewed.
    queue.last = closing.catch(() => {})
    await queue.last
  }
}

type MachineQueue = {
  /** Settles with the last call, and never rejects. */
  last: Promise<void>
  pending: number
  releaseTimer: NodeJS.Timeout | undefined
}

async function explainLoss(machine: Machine, holder: LeaseHolder | null): Promise<ToolError> {
  const { name } = machine
  const help = holder ? await findActiveHelp(machine) : undefined
  if (help && help.sessionId === holder?.sessionId) {
    return new ToolError(`Your action was not performed, or only partly. ${explainActive(help)}`)
  }
  if (!holder) {
    return new ToolError(
      `You lost control of the mouse and keyboard of ${name} in the meantime; they are free again. ` +
        'Your action was not performed, or only partly. Take a screenshot to see what has changed, ' +
        'then continue from there.',
    )
  }
  const who = holder.type === 'human' ? 'A person' : 'Another program'
  const key = holder.isOwn ? ', with the API key of this MCP server' : ''
  return new ToolError(
    `${who} (${holder.openedBy.name}${key}; session ${holder.sessionId}, until ${holder.expiresAt} ` +
      `unless it goes on) controls the mouse and keyboard of ${name} now. Your action ` +
      'was not performed, or only partly. Do not keep retrying: tell the user, wait until they say ' +
      'that you may continue, and then take a screenshot first. Screenshots, commands and files ' +
      'still work.',
  )
}
