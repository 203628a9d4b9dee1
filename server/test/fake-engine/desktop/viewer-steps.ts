import type { Display, GuestInputEvent } from '@computer/contract'
import type { Step } from './input-steps.ts'

const buttons = ['left', 'middle', 'right'] as const
const wheels = ['up', 'down', 'left', 'right'] as const

/** The effect of one viewer event on a display, given the keys and buttons its stream holds. */
export function stepsOfEvent(
  event: GuestInputEvent,
  held: ReadonlySet<string>,
  { width, height }: Display,
): Step[] {
  switch (event.type) {
    case 'pointer': {
      const { x, y } = event
      if (x < 0 || y < 0 || x >= width || y >= height) return []
      return [{ type: 'move', x, y }, ...buttonSteps(event.buttons, held)]
    }
    case 'key': {
      const name = nameOf(event.keysym)
      if (event.down) return [{ type: 'press', name, releases: true }]
      return held.has(name) ? [{ type: 'release', name }] : []
    }
    case 'clipboard':
      return [{ type: 'write_clipboard', text: event.text, selection: 'clipboard' }]
    case 'resize':
      return [{ type: 'resize', width: event.width, height: event.height }]
  }
}

function buttonSteps(mask: number, held: ReadonlySet<string>): Step[] {
  const pressed = buttons.flatMap((name, bit): Step[] => {
    const isDown = (mask & (1 << bit)) !== 0
    if (isDown === held.has(name)) return []
    return [isDown ? { type: 'press', name, releases: true } : { type: 'release', name }]
  })
  const notches = wheels.flatMap((name, index): Step[] =>
    (mask & (8 << index)) === 0 ? [] : [{ type: 'scroll', name }],
  )
  return [...pressed, ...notches]
}

/** `a` for the keysyms of Latin-1, the number for others. */
function nameOf(keysym: number): string {
  return keysym < 0x100 ? String.fromCodePoint(keysym) : `0x${keysym.toString(16)}`
}
