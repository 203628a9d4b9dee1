import {
  keyAliases,
  type ClipboardSelection,
  type Display,
  type GuestAction,
  type Point,
} from '@computer/contract'
import type { z } from 'zod'
import { GuestFault } from '../guest/fault.ts'

/** The smallest effect on a display. An action can be interrupted between two steps. */
export type Step =
  | { readonly type: 'move'; readonly x: number; readonly y: number }
  /** `releases`: a later step of the same action releases it. */
  | { readonly type: 'press'; readonly name: string; readonly releases: boolean }
  | { readonly type: 'release'; readonly name: string }
  | { readonly type: 'scroll' | 'text'; readonly name: string }
  | { readonly type: 'resize'; readonly width: number; readonly height: number }
  | {
      readonly type: 'write_clipboard'
      readonly text: string
      readonly selection: z.output<typeof ClipboardSelection>
    }

/** Throws before the first step if any part of the action is invalid. */
export function stepsOf(action: GuestAction, pointer: Point, display: Display): Step[] {
  const move = (point: Point): Step => ({ type: 'move', ...onDisplay(point, display) })
  switch (action.type) {
    case 'move':
      return [move(action)]
    case 'click': {
      const start = action.at ? [move(action.at)] : []
      if (action.down || action.up) return [...start, ...holdSteps(action.button, action)]
      const clicks = Array.from({ length: action.count }, () => strike(action.button))
      return [...start, ...clicks.flat()]
    }
    case 'drag': {
      const from = onDisplay(action.from ?? pointer, display)
      const to = onDisplay(action.to, display)
      const path = Array.from({ length: action.steps }, (_, index) =>
        move(between(from, to, (index + 1) / action.steps)),
      )
      const [press, release] = strike(action.button)
      return [move(from), press, ...path, release]
    }
    case 'scroll': {
      const start = action.at ? [move(action.at)] : []
      const notch: Step = { type: 'scroll', name: action.direction }
      return [...start, ...Array.from({ length: action.amount }, () => notch)]
    }
    case 'type':
      return Array.from(action.text, (name): Step => ({ type: 'text', name }))
    case 'key': {
      const key = keysym(action.key)
      return action.down || action.up ? holdSteps(key, action) : strike(key)
    }
    case 'hotkey': {
      const keys = action.keys.map(keysym)
      const releases = keys.toReversed().map((name): Step => ({ type: 'release', name }))
      return [...keys.map((name): Step => ({ type: 'press', name, releases: true })), ...releases]
    }
    case 'resize':
    case 'write_clipboard':
      return [action]
  }
}

function strike(name: string): [Step, Step] {
  return [
    { type: 'press', name, releases: true },
    { type: 'release', name },
  ]
}

function holdSteps(
  name: string,
  { down, up }: { readonly down?: boolean | undefined; readonly up?: boolean | undefined },
): Step[] {
  return [
    ...(down ? [{ type: 'press', name, releases: up === true } as const] : []),
    ...(up ? [{ type: 'release', name } as const] : []),
  ]
}

function between(from: Point, to: Point, part: number): Point {
  return {
    x: Math.round(from.x + (to.x - from.x) * part),
    y: Math.round(from.y + (to.y - from.y) * part),
  }
}

function onDisplay({ x, y }: Point, { width, height }: Display): Point {
  if (x >= 0 && y >= 0 && x < width && y < height) return { x, y }
  throw new GuestFault('invalid_request', `${x},${y} is outside the display of ${width}x${height}`)
}

function keysym(name: string): string {
  const alias = keyAliases[name.toLowerCase()]
  if (alias) return alias
  if ([...name].length === 1 || keysyms.has(name) || /^F([1-9]|[12]\d|3[0-5])$/.test(name)) {
    return name
  }
  throw new GuestFault('invalid_request', `there is no key "${name}"`)
}

const otherKeys =
  'Control_R Alt_R Shift_R Super_R Caps_Lock Num_Lock Insert Print Menu Pause plus minus comma'
const keysyms = new Set([...Object.values(keyAliases), ...otherKeys.split(' ')])
