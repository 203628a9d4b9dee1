import type { Webhook } from '@computer/sdk'
import { isolate } from '../../ui/isolate.ts'

/** The host of a webhook's address, for names of buttons and titles: the rest may be long. */
export function hostOf({ url }: Pick<Webhook, 'url'>): string {
  return isolate((URL.canParse(url) && new URL(url).host) || url)
}

export const disabledWords: Readonly<Record<NonNullable<Webhook['disabledReason']>, string>> = {
  user: 'By a person',
  gone: 'The receiver answered 410, which means that it is gone',
  failing: 'The receiver accepted nothing for five days',
}

/** Why a message cannot be sent now, or undefined if it can. */
export function whyNotSend({ enabled }: Webhook): string | undefined {
  return enabled ? undefined : 'The webhook is disabled. Enable it first.'
}
