import type { Activity } from '@computer/sdk'
import { formatCount } from '../../../format.ts'
import { countIn } from './strange-text.ts'

const inputNouns: Readonly<Record<string, string>> = {
  'mouse.clicked': 'click',
  'mouse.dragged': 'drag',
  'mouse.scrolled': 'scroll',
  'mouse.moved': 'move',
  'keyboard.pressed': 'key',
  'keyboard.typed': 'text',
}

/** Such as "12 inputs: 8 clicks, 4 keys". */
export function countInputs(inputs: readonly Activity[]): string {
  const counts = Object.entries(inputNouns).flatMap(([type, noun]) => {
    const count = inputs.filter((input) => input.type === type).length
    return count === 0 ? [] : [formatCount(count, noun)]
  })
  return `${formatCount(inputs.length, 'input')}: ${counts.join(', ')}`
}

const screenNouns = {
  moves: 'move',
  clicks: 'click',
  keys: 'key',
  pastes: 'paste',
  resizes: 'resize',
}

/** The input of the live screen, summed up, such as "40 moves, 3 clicks". */
export function countScreenInput(inputs: readonly Pick<Activity, 'data'>[]): string {
  const counts = Object.entries(screenNouns).flatMap(([kind, noun]) => {
    const count = inputs.reduce((sum, { data }) => sum + countIn(data[kind]), 0)
    return count === 0 ? [] : [formatCount(count, noun)]
  })
  return counts.join(', ') || 'no input'
}

/** How many broke off, of a run. */
export function countUnknown(inputs: readonly Pick<Activity, 'data'>[]): number {
  return inputs.filter(({ data }) => data['outcome'] === 'unknown').length
}
