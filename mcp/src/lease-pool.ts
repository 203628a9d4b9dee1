import { ApiError, type Machine } from '@computer/sdk'
import { Refusal } from './tool.ts'

/**
 * Who has the mouse and the keyboard: the input leases of one client.
 *
 * The SDK acquires the lease of a machine at the first input and renews it. Here it is handed back once
 * nothing was typed or clicked for a while, and a lease that somebody else took is theirs: the model is
 * told, once for each loss, and its next try acquires the lease only if it is free by then.
 */
export class Controls implements AsyncDisposable {
  readonly #handBackAfterMs: number
  readonly #turns = new Map<string, Turn>()
  #found: Promise<unknown> = Promise.resolve()
  #hasEnded = false

  constructor(handBackAfterMs: number) {
    this.#handBackAfterMs = handBackAfterMs
  }

  /**
   * Types or clicks. Calls for one machine take turns in the order they came: a model may ask for a
   * click and the text to type there at once.
   */
  async use(
    find: () => Promise<Machine>,
    act: (machine: Machine) => Promise<void>,
  ): Promise<Machine> {
    const finding = this.#found.then(find)
    this.#found = finding.catch(() => {})
    const machine = await finding
    const turn = this.#turnOf(machine.id)
    clearTimeout(turn.handBack)
    turn.waiting++
    const acting = turn.last.then(() => this.#act(machine, () => act(machine)))
    turn.last = acting.catch(() => {})
    try {
      await acting
      return machine
    } finally {
      if (--turn.waiting === 0) this.#handBackLater(machine, turn)
    }
  }

  /** Waits for what is under way; the leases themselves end with the client of the SDK. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#hasEnded = true
    const turns = [...this.#turns.values()]
    this.#turns.clear()
    for (const { handBack } of turns) clearTimeout(handBack)
    await Promise.all(turns.map(({ last }) => last))
  }

  async #act(machine: Machine, act: () => Promise<void>): Promise<void> {
    // A lease that is acquired now would be handed back by nobody.
    if (this.#hasEnded) throw new Refusal('The client has left.')
    if (machine.input.state === 'lost') throw await explainLoss(machine)
    try {
      await act()
    } catch (error) {
      if (error instanceof ApiError && error.code === 'conflict') throw await explainLoss(machine)
      throw error
    }
  }

  #turnOf(machineId: string): Turn {
    const turn = this.#turns.get(machineId) ?? {
      last: Promise.resolve(),
      waiting: 0,
      handBack: undefined,
    }
    this.#turns.set(machineId, turn)
    return turn
  }

  #handBackLater(machine: Machine, turn: Turn): void {
    if (this.#turns.get(machine.id) !== turn) return
    turn.handBack = setTimeout(() => {
      // The session goes too: an organization may have only so many open.
      const closing = turn.last.then(() => machine.input.close())
      // What cannot be handed back runs out by itself: nobody renews it any more.
      turn.last = closing.catch(() => {})
    }, this.#handBackAfterMs)
    turn.handBack.unref()
  }
}

type Turn = {
  /** Settles with the last use, and never rejects. */
  last: Promise<void>
  waiting: number
  handBack: NodeJS.Timeout | undefined
}

async function explainLoss(machine: Machine): Promise<Refusal> {
  const { input, name } = machine
  // The next input acquires the lease anew, from nobody.
  await input.release()
  const { holder } = await input.holder()
  if (!holder) {
    return new Refusal(
      `You lost the mouse and keyboard of ${name} meanwhile, and they are free again. ` +
        'What you asked for was not done, or only in part. Take a screenshot to see what has changed, ' +
        'then go on from there.',
    )
  }
  const who = holder.type === 'human' ? 'A person' : 'Another program'
  return new Refusal(
    `${who} (${holder.openedBy.name}) controls the mouse and keyboard of ${name} now. What you asked ` +
      'for was not done, or only in part. Do not try again and again: tell the user, and wait until ' +
      'they say that you may go on, then take a screenshot first. Screenshots, commands and files ' +
      'work meanwhile.',
  )
}
