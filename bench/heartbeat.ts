import type { ApiClient } from '../e2e/harness/api.ts'
import { eventually } from '../e2e/harness/polling.ts'
import { polling, shell } from './machine.ts'

/*
 * Measures from inside how long a machine is paused: a program beats a thousand times a second and
 * records the longest gap. A machine uses the host's clock.
 */
type Heartbeat = {
  /** The longest gap in milliseconds since the last call. */
  longestMs(): Promise<number>
  stop(): Promise<void>
}

const program = `
import os, time
last, longest = time.monotonic(), 0
while not os.path.exists('beat-stop'):
    time.sleep(0.001)
    now = time.monotonic()
    longest = max(longest, now - last)
    last = now
    if os.path.exists('beat-wanted'):
        os.remove('beat-wanted')
        with open('beat-new', 'w') as out:
            print(longest * 1000, file=out)
        os.rename('beat-new', 'beat')
        last, longest = time.monotonic(), 0
`

export async function startHeartbeat(api: ApiClient, id: string): Promise<Heartbeat> {
  const path = 'beat.py'
  await api.ok('PUT', `/v1/machines/${id}/files/content`, { path, content: program })
  await api.launch(id, 'python3 beat.py')
  return {
    async longestMs() {
      await shell(api, id, 'rm -f beat; touch beat-wanted')
      const readGap = async () =>
        (await shell(api, id, 'cat beat 2>/dev/null || true')) || undefined
      return Number(await eventually('the heartbeat reports', readGap, polling))
    },
    stop: async () => void (await shell(api, id, 'touch beat-stop')),
  }
}
