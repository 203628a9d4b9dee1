import type {
  ClipboardSelection,
  Display,
  GuestFence,
  GuestInput,
  GuestInputEvent,
  SessionId,
} from '@computer/contract'
import type { z } from 'zod'
import { Gate, type Hold } from '../faults.ts'
import { GuestFault } from '../guest/fault.ts'
import { stepsOf, type Step } from './input-steps.ts'
import { stepsOfEvent } from './viewer-steps.ts'

type Selection = z.output<typeof ClipboardSelection>

/** An event that reached the display (`move 10,20`, `press left`) and the fence of its input. */
export type DesktopEvent = { readonly fence: number; readonly event: string }

export type Screen = {
  readonly width: number
  readonly height: number
  readonly pointer: { readonly x: number; readonly y: number }
  /** Increases with every visible change. */
  readonly changes: number
}

const maxEvents = 10_000

/** The fence, input, clipboard and display of a fake guest, as contract/src/guest.ts promises them. */
export class FakeDesktop {
  fence: number | null = null
  /** Events that reached the display; only the last 10,000 are kept. */
  readonly events: DesktopEvent[] = []
  /** Keys and buttons that are down. */
  readonly pressed = new Set<string>()
  /** The part of the screen that never settles: x, y, width and height. */
  moving: readonly number[] | null = null
  /** Called when it comes up or its size changes. */
  onDisplay: () => void = () => {}
  /** Called when a private holding begins or ends. */
  onPrivacy: () => void = () => {}
  #privateTo: SessionId | null = null
  #up: boolean
  /** The first fence of the current holder. Input with this fence or a later one is accepted. */
  #since = 0
  #width = 1280
  #height = 800
  #pointer = { x: 640, y: 400 }
  #changes = 0
  #shown = 0
  readonly #clipboard: Record<Selection, string> = { clipboard: '', primary: '' }
  #running: Work | null = null
  #turn: Promise<unknown> = Promise.resolve()
  /** Resolves when no effect of an earlier holder is left. Renewals wait for it as well. */
  #settled: Promise<void> = Promise.resolve()
  #gate: Gate | null = null

  constructor(options: { readonly up: boolean }) {
    this.#up = options.up
  }

  get up(): boolean {
    return this.#up
  }

  set up(isUp: boolean) {
    this.#up = isUp
    this.onDisplay()
  }

  get display(): Display {
    return { width: this.#width, height: this.#height, up: this.up }
  }

  screen(): Screen {
    this.#mustBeUp()
    const { width, height } = this.display
    return { width, height, pointer: this.#pointer, changes: this.#changes }
  }

  /** Names the screen as it is now, which buttons and keys alone do not change. */
  get screenId(): string {
    return `screen-${this.#shown}`
  }

  /** Whether the screen has changed since one that was shown. */
  hasChangedSince(id: string): boolean {
    if (!/^screen-\d+$/.test(id)) throw staleScreen('that screenshot is not among the last')
    return id !== this.screenId
  }

  /** Resolves with the fence now held, once input of an earlier grant can have no more effect. */
  setFence({ fence, since, private_to: privateTo = null }: GuestFence): Promise<number> {
    if (this.fence !== null && fence < this.fence) return Promise.resolve(this.fence)
    const isRenewal = this.fence !== null && since === this.#since
    this.fence = fence
    if (isRenewal) return this.#settled.then(() => this.fence ?? fence)
    this.#since = since
    if (this.#running && this.#running.fence < since) this.#running.breakOff()
    const wasPrivate = this.#privateTo !== null
    this.#privateTo = privateTo
    if (wasPrivate || privateTo !== null) this.onPrivacy()
    if (wasPrivate) Object.assign(this.#clipboard, { clipboard: '', primary: '' })
    this.#settled = this.#enqueue(() => this.#releaseAll(fence))
    return this.#settled.then(() => this.fence ?? fence)
  }

  forgetFence(): void {
    this.#running?.breakOff()
    this.#releaseAll(this.fence ?? 0)
    this.fence = null
    this.#privateTo = null
  }

  /** Throws if the screen is private to another session. */
  requireSight(viewer: SessionId | undefined): void {
    if (this.#privateTo === null || this.#privateTo === viewer) return
    throw new GuestFault('conflict', 'the screen is private', 'screen_private')
  }

  /** Input that arrives from now on stops after its first step until the hold is released. */
  holdInput(): Hold {
    const gate = new Gate(() => {
      if (this.#gate === gate) this.#gate = null
    })
    this.#gate = gate
    return gate
  }

  /** Inputs run one at a time, in order of arrival. */
  input({ fence, action, seen }: GuestInput): Promise<{ display?: Display }> {
    return this.#enqueue(async () => {
      this.#mustHold(fence)
      this.#mustBeUp()
      if (seen && this.hasChangedSince(seen.screenshot)) throw staleScreen('the screen has changed')
      const steps = stepsOf(action, this.#pointer, this.display)
      const work: Work = { fence, pressed: new Set(), ...brokenOff() }
      this.#running = work
      try {
        for (const [index, step] of steps.entries()) {
          if (index > 0 && this.#gate) await Promise.race([this.#gate.pass(), work.broken])
          this.#mustStillHold(fence)
          this.#mustBeUp()
          this.#apply(step, work)
        }
      } finally {
        this.#running = null
        for (const name of work.pressed) this.#release(name, fence)
      }
      return action.type === 'resize' ? { display: this.display } : {}
    })
  }

  /** Performs one viewer event; `held` are the keys and buttons that its stream holds. */
  follow(fence: number, event: GuestInputEvent, held: Set<string>): Promise<void> {
    return this.#enqueue(() => {
      this.#mustHold(fence)
      this.#mustBeUp()
      const work: Work = { fence, pressed: held, ...brokenOff() }
      for (const step of stepsOfEvent(event, held, this.display)) this.#apply(step, work)
    })
  }

  releaseHeld(held: Set<string>): void {
    for (const name of held) if (this.pressed.has(name)) this.#release(name, this.fence ?? 0)
    held.clear()
  }

  readClipboard(selection: Selection): string {
    this.#mustBeUp()
    return this.#clipboard[selection]
  }

  shutDown(): void {
    this.up = false
    this.#running?.breakOff()
  }

  #enqueue<T>(work: () => T | Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => {})
    return result
  }

  #mustHold(fence: number): void {
    if (this.fence === null || fence > this.fence) {
      throw new GuestFault('conflict', 'the agent does not know this fence yet', 'fence_unknown')
    }
    this.#mustStillHold(fence)
  }

  /** A renewal does not interrupt the holder's input, in progress or in flight. */
  #mustStillHold(fence: number): void {
    if (this.fence === null || fence < this.#since) throw staleFence()
  }

  #mustBeUp(): void {
    if (this.up) return
    throw new GuestFault('compute_unavailable', 'the desktop is not up yet', 'desktop_down')
  }

  #apply(step: Step, { fence, pressed }: Work): void {
    this.#changes += 1
    if (step.type !== 'press' && step.type !== 'release') this.#shown += 1
    switch (step.type) {
      case 'move':
        this.#pointer = { x: step.x, y: step.y }
        return this.#record(fence, `move ${step.x},${step.y}`)
      case 'press':
        this.pressed.add(step.name)
        if (step.releases) pressed.add(step.name)
        return this.#record(fence, `press ${step.name}`)
      case 'release':
        pressed.delete(step.name)
        return this.#release(step.name, fence)
      case 'resize':
        this.#width = step.width
        this.#height = step.height
        this.onDisplay()
        return this.#record(fence, `resize ${step.width}x${step.height}`)
      case 'write_clipboard':
        this.#clipboard[step.selection] = step.text
        return this.#record(fence, `${step.selection} ${step.text}`)
      default:
        return this.#record(fence, `${step.type} ${step.name}`)
    }
  }

  #releaseAll(fence: number): void {
    for (const name of this.pressed) this.#release(name, fence)
  }

  #release(name: string, fence: number): void {
    this.pressed.delete(name)
    this.#record(fence, `release ${name}`)
  }

  #record(fence: number, event: string): void {
    this.events.push({ fence, event })
    if (this.events.length > maxEvents) this.events.shift()
  }
}

/** An input in progress, and the keys and buttons that it will release itself. */
type Work = {
  readonly fence: number
  readonly pressed: Set<string>
  /** Ends a wait between steps; the fence is checked again before every step. */
  readonly broken: Promise<void>
  breakOff(): void
}

function brokenOff(): Pick<Work, 'broken' | 'breakOff'> {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { broken: promise, breakOff: resolve }
}

function staleScreen(what: string): GuestFault {
  const message = `${what}; take another screenshot`
  return new GuestFault('precondition_failed', message, 'screen_stale')
}

function staleFence(): GuestFault {
  return new GuestFault('conflict', 'the input lease has gone to another', 'fence_stale')
}
