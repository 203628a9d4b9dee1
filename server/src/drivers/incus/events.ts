import { setTimeout as sleep } from 'node:timers/promises'
import type { MachineRef } from '../machine-driver.ts'
import type { IncusClient } from './client.ts'
import { refOf } from './instance.ts'

/**
 * Yields machines whose state changed, from the engine's lifecycle events. Reconnects until the signal
 * aborts, and yields `all` after each connect, because events in between are lost.
 */
export async function* watchMachines(
  client: IncusClient,
  project: string,
  signal: AbortSignal,
): AsyncIterable<MachineRef | 'all'> {
  let delayMs = 100
  while (!signal.aborted) {
    for await (const event of readEvents(client, project, signal)) {
      delayMs = 100
      if (event === 'open') yield 'all'
      if (event === 'open' || !changesState.has(event.action)) continue
      const ref = event.project === project ? refOf(event.name) : undefined
      if (ref) yield ref
    }
    await sleep(delayMs, undefined, { signal }).catch(() => {})
    delayMs = Math.min(delayMs * 2, 5_000)
  }
}

const changesState = new Set([
  'instance-started',
  'instance-stopped',
  'instance-shutdown',
  'instance-restarted',
  'instance-paused',
  'instance-resumed',
  'instance-deleted',
])

type LifecycleEvent = { readonly action: string; readonly name: string; readonly project: string }

/** The events of one connection, until it ends for any reason. */
async function* readEvents(
  client: IncusClient,
  project: string,
  signal: AbortSignal,
): AsyncIterable<LifecycleEvent | 'open'> {
  const socket = client.socket('/1.0/events', { type: 'lifecycle', project })
  const queue: (LifecycleEvent | 'open')[] = []
  let ended = false
  let wake = () => {}
  const end = () => {
    ended = true
    wake()
  }
  const add = (event: LifecycleEvent | 'open') => {
    queue.push(event)
    wake()
  }
  socket.on('open', () => add('open'))
  socket.on('message', (data: Buffer) => {
    const event = parse(data)
    if (event) add(event)
  })
  socket.on('error', end)
  socket.on('close', end)
  signal.addEventListener('abort', end)
  try {
    while (!ended && !signal.aborted) {
      while (queue.length > 0) yield queue.shift()!
      if (ended || signal.aborted) return
      await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    signal.removeEventListener('abort', end)
    socket.terminate()
  }
}

function parse(data: Buffer): LifecycleEvent | undefined {
  try {
    const { metadata, project } = JSON.parse(data.toString('utf8')) as {
      metadata: { action: string; name?: string; source: string }
      project: string
    }
    const name =
      metadata.name ?? new URL(metadata.source, 'http://engine').pathname.split('/').at(-1)
    return { action: metadata.action, name: name ?? '', project }
  } catch {
    return undefined
  }
}
