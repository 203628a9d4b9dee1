import type { GuestInputEvent, MachineId, SessionId } from '@computer/contract'
import type { Actor } from '../../actor.ts'
import type { ActivityRecorder } from '../../domain/activity/recorder.ts'
import { personOf } from '../../domain/help/people.ts'

/** A viewer moves the pointer sixty times a second, so its input is summed up for so long. */
const sumForMs = 5_000
const buttons = 0b111

/** The input of one viewer in the activity log: how much of which kind, and never which keys. */
export class ViewerActivity {
  readonly #activity: ActivityRecorder
  readonly #who: {
    readonly actor: Actor
    readonly machineId: MachineId
    readonly sessionId: SessionId
  }
  #sum = nothing()
  #buttons = 0
  #timer: NodeJS.Timeout | undefined

  constructor(
    activity: ActivityRecorder,
    who: { readonly actor: Actor; readonly machineId: MachineId; readonly sessionId: SessionId },
  ) {
    this.#activity = activity
    this.#who = who
  }

  note(event: GuestInputEvent): void {
    const sum = this.#sum
    if (event.type === 'pointer') {
      sum.moves += 1
      if ((event.buttons & ~this.#buttons & buttons) !== 0) sum.clicks += 1
      this.#buttons = event.buttons
    } else if (event.type === 'key') sum.keys += event.down ? 1 : 0
    else if (event.type === 'clipboard') sum.pastes += 1
    else sum.resizes += 1
    this.#timer ??= setTimeout(() => this.flush(), sumForMs)
  }

  flush(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    const { actor, machineId, sessionId } = this.#who
    this.#activity.record({
      organizationId: actor.organizationId,
      machineId,
      type: 'viewer.input',
      actor: personOf(actor),
      sessionId,
      data: this.#sum,
    })
    this.#sum = nothing()
  }
}

function nothing() {
  return { moves: 0, clicks: 0, keys: 0, pastes: 0, resizes: 0 }
}
