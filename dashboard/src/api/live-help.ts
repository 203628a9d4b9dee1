import type { Activity } from '@computer/sdk'
import { computer } from './client.ts'
import { follow } from './follow.ts'
import { refreshHelp } from './help-requests.ts'

/**
 * Keeps help requests current until the signal is aborted: the activity of the organization tells of each change.
 * As with events, it adds nothing to a list, but has the lists read again.
 */
export async function followHelp(signal: AbortSignal): Promise<void> {
  const feed = {
    subscribe: () => computer.activity.subscribe({ signal }),
    onReady: () => void refreshHelp(),
    onEntry: ({ type }: Activity) => {
      if (type.startsWith('help.')) void refreshHelp()
    },
  }
  await follow(feed, signal)
}
