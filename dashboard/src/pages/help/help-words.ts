import type { HelpPerson, HelpReason, HelpState } from '@computer/sdk'
import type { Tone } from '../../ui/Badge.tsx'

/** The reason of a request, in words. A newer server may know more reasons. */
export function reasonText(reason: string): string {
  return Object.hasOwn(reasonWords, reason) ? reasonWords[reason as HelpReason] : reason
}

const reasonWords: Readonly<Record<HelpReason, string>> = {
  login: 'A sign-in',
  two_factor: 'A second factor',
  captcha: 'A captcha',
  approval: 'An approval',
  question: 'A question',
  other: 'Something else',
}

export const helpStateWords: Readonly<Record<HelpState, string>> = {
  open: 'Waiting',
  active: 'Taken',
  done: 'Done',
  declined: 'Declined',
  cancelled: 'Cancelled',
  expired: 'Expired',
}

export const helpStateTones: Readonly<Record<HelpState, Tone>> = {
  open: 'warn',
  active: 'accent',
  done: 'good',
  declined: 'bad',
  cancelled: 'quiet',
  expired: 'quiet',
}

/** The kind of a person, after their name. */
export function personKind({ type }: Pick<HelpPerson, 'type'>): string {
  if (type === 'guest') return ' (guest)'
  return type === 'api_key' ? ' (API key)' : ''
}

/** The promise of a private screen, and its limit. */
export const privateNote = 'Nobody else can see this screen now; programs inside the machine can.'

/** The same, before the screen is taken. */
export const privatePromise =
  'While you have it, nobody else can see the screen; programs inside the machine can.'
