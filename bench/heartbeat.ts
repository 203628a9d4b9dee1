import type { Api } from './api.ts'
import { shell } from './disks.ts'
import { waitFor } from './machine.ts'

/*
 * How long a machine stands still, as seen from inside: a program beats a thousand times a second and
 * notes each beat that is late. The clock of a machine is the host's.
 */
export type Heartbeat = {
  /** The longest time without a beat since the last call, in milliseconds. */
  longestMs(): Promise<number>
  stop(): Promise<void>
}

const program = `
import os, time
last, longest = time.monotonic(), 0
os.remove('beat-wanted') if os.path.exists('beat-wanted') else None
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

export async function startHeartbeat(api: Api, id: string): Promise<Heartbeat> {
  const path = 'beat.py'
  await api.json('PUT', `/v1/machines/${id}/files/content`, { path, content: program })
  await shell(api, id, 'setsid python3 beat.py </dev/null >/dev/null 2>&1 &')
  return {
    async longestMs() {
      let text = ''
      await shell(api, id, 'rm -f beat; touch beat-wanted')
      await waitFor('the heart beats', async () => {
        text = await shell(api, id, 'cat beat 2>/dev/null || true')
        return text !== ''
      })
      return Number(text)
    },
    stop: async () => void (await shell(api, id, 'touch beat-stop')),
  }
}
