import type { MachineRecord } from '@computer/sdk'
import { queryOptions } from '@tanstack/react-query'
import { machineHandle } from './machines.ts'

const intervalMs = 10_000
const atOnce = 4
const width = 480

/** A small picture of a running machine's screen, renewed while it is shown. */
export function thumbnailQuery(
  { id, state }: Pick<MachineRecord, 'id' | 'state'>,
  isVisible: boolean,
) {
  return queryOptions({
    queryKey: ['thumbnail', id] as const,
    queryFn: async ({ signal }) =>
      inTurn(async () => {
        signal.throwIfAborted()
        const { display } = await machineHandle(id)
        const options = { format: 'webp', quality: 60, maxWidth: width, signal } as const
        return new Blob([(await display.screenshot(options)).bytes], { type: 'image/webp' })
      }),
    enabled: state === 'running' && isVisible,
    refetchInterval: intervalMs,
    staleTime: intervalMs,
    gcTime: 60_000,
    // A desktop that is not up yet has a picture the next time.
    retry: false,
  })
}

let running = 0
const waiting: (() => void)[] = []

/** Runs at most four at once: each is work for its machine and the server. */
async function inTurn<T>(run: () => Promise<T>): Promise<T> {
  if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
  running++
  try {
    return await run()
  } finally {
    running--
    waiting.shift()?.()
  }
}
