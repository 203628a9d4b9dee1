import { useSyncExternalStore } from 'react'
import { refreshFiles } from './files.ts'
import { uploadFile } from './upload-file.ts'

/*
 * The uploads of this page, three at once. They go on while other pages of the dashboard are shown, and end
 * with the tab of the browser, which asks before.
 */

export type Upload = {
  readonly id: number
  readonly machineId: string
  readonly path: string
  readonly size: number
  readonly sent: number
  readonly state: 'waiting' | 'sending' | 'done' | 'failed'
  readonly error?: unknown
}

const atOnce = 3
/** Progress comes many times a second. */
const showMs = 100
const refreshMs = 500

const uploads = new Map<number, Upload>()
const sources = new Map<number, { readonly file: File; readonly stopping: AbortController }>()
const listeners = new Set<() => void>()
const timers = new Map<string, ReturnType<typeof setTimeout>>()
let shown: readonly Upload[] = []
let lastId = 0

/** All uploads to one machine that have not been cleared. */
export function useUploads(machineId: string): readonly Upload[] {
  const all = useSyncExternalStore(subscribe, () => shown)
  return all.filter((one) => one.machineId === machineId)
}

/** Uploads files; those of an earlier batch that are done are no longer listed. */
export function startUploads(
  machineId: string,
  files: readonly { readonly file: File; readonly path: string }[],
): void {
  clearUploads(machineId)
  for (const { file, path } of files) {
    const id = ++lastId
    uploads.set(id, { id, machineId, path, size: file.size, sent: 0, state: 'waiting' })
    sources.set(id, { file, stopping: new AbortController() })
  }
  next()
}

/** Ends an upload and removes what it has sent. */
export function cancelUpload(id: number): void {
  sources.get(id)?.stopping.abort()
  uploads.delete(id)
  sources.delete(id)
  next()
}

/** Tries a failed upload again. A large file continues. */
export function retryUpload(id: number): void {
  change(id, { state: 'waiting', error: undefined })
  next()
}

/** No longer lists what is done. */
export function clearUploads(machineId: string): void {
  for (const upload of uploads.values())
    if (upload.machineId === machineId && upload.state === 'done') uploads.delete(upload.id)
  show()
}

function next(): void {
  const all = [...uploads.values()]
  const sending = all.filter(({ state }) => state === 'sending').length
  const waiting = all.filter(({ state }) => state === 'waiting')
  for (const upload of waiting.slice(0, Math.max(0, atOnce - sending))) void run(upload)
  if (sending + waiting.length > 0) window.addEventListener('beforeunload', warn)
  else window.removeEventListener('beforeunload', warn)
  show()
}

async function run({ id, machineId, path }: Upload): Promise<void> {
  const { file, stopping } = sources.get(id)!
  change(id, { state: 'sending' })
  const options = { signal: stopping.signal, onSent: (sent: number) => change(id, { sent }) }
  try {
    await uploadFile({ machineId, path }, file, options)
    change(id, { state: 'done', sent: file.size })
    sources.delete(id)
    later(`refresh ${machineId}`, refreshMs, () => void refreshFiles(machineId))
  } catch (error) {
    change(id, { state: 'failed', error })
  }
  next()
}

function change(id: number, changes: Partial<Upload>): void {
  const upload = uploads.get(id)
  // A cancelled one is gone.
  if (!upload) return
  uploads.set(id, { ...upload, ...changes })
  later('show', showMs, show)
}

function show(): void {
  shown = [...uploads.values()]
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function later(key: string, ms: number, act: () => void): void {
  if (timers.has(key)) return
  const timer = setTimeout(() => {
    timers.delete(key)
    act()
  }, ms)
  timers.set(key, timer)
}

function warn(event: BeforeUnloadEvent): void {
  event.preventDefault()
}
