import type { InputLease, MachineState, ScreenMessage } from '@computer/sdk'

/** The status that the page shows beside the screen. */
export type Status = {
  readonly type: 'status'
  /** The holder of control, or the state of a machine that does not run. */
  readonly text: string
  /** Why this view has lost control or could not take it. */
  readonly notice: string
  readonly hasControl: boolean
  readonly offers: 'take' | 'give' | null
}

/** Follows who controls a machine, as seen by the session of one view. */
export class ControlStatus {
  /** Null if the view can never control. */
  readonly #sessionId: string | null
  #state: MachineState = 'running'
  #holder: InputLease['holder'] | undefined
  #notice = ''
  #isGivingBack = false

  constructor(sessionId: string | null) {
    this.#sessionId = sessionId
  }

  get status(): Status {
    const { hasControl } = this
    const canTake = this.#holder !== undefined && this.#state === 'running'
    return {
      type: 'status',
      text: this.#describe(),
      notice: this.#notice,
      hasControl,
      offers: this.#sessionId === null ? null : hasControl ? 'give' : canTake ? 'take' : null,
    }
  }

  get hasControl(): boolean {
    return this.#sessionId !== null && this.#holder?.sessionId === this.#sessionId
  }

  observe(message: ScreenMessage): void {
    if (message.type === 'machine') this.#state = message.state
    if (message.type === 'ready') this.#state = 'running'
    if (message.type !== 'lease') return
    const hadControl = this.hasControl
    this.#holder = message.holder
    if (this.hasControl) this.#notice = ''
    else if (hadControl && !this.#isGivingBack) this.#notice = this.#describeLoss()
    if (!this.hasControl) this.#isGivingBack = false
  }

  /** The next loss of control is no surprise. */
  giveBack(): void {
    this.#isGivingBack = true
  }

  /** Shows why something failed, until control changes. */
  fail(notice: string): void {
    this.#isGivingBack = false
    this.#notice = notice
  }

  #describe(): string {
    if (this.#state !== 'running') return `The machine is ${this.#state}.`
    if (this.#holder === undefined) return ''
    if (this.hasControl) return 'You have control.'
    return `${this.#holder ? nameOf(this.#holder) : 'Nobody'} has control.`
  }

  #describeLoss(): string {
    if (!this.#holder) return 'You have lost control.'
    const name = nameOf(this.#holder)
    return `Control was taken by ${name.charAt(0).toLowerCase()}${name.slice(1)}.`
  }
}

function nameOf({ type, openedBy }: NonNullable<InputLease['holder']>): string {
  return `${type === 'human' ? 'A person' : 'A program'} (${openedBy.name})`
}
