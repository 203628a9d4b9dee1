import { ApiError } from '@computer/sdk'
import { machineHandle } from './machines.ts'
import { sendBytes } from './upload-request.ts'

/** Larger files are sent in pieces, so that a broken upload continues where it broke. */
const maxWholeBytes = 32 * 1024 * 1024
const pieceBytes = 8 * 1024 * 1024
/** Delays after failures of the connection, with no progress between them. */
const retryDelaysMs = [500, 1_000, 2_000, 4_000, 8_000, 15_000]
const maxRestarts = 2

export type UploadTarget = { readonly machineId: string; readonly path: string }
type Options = {
  /** Called with the bytes that have been sent of the whole file. */
  readonly onSent: (bytes: number) => void
  readonly signal: AbortSignal
}

/**
 * Uploads a file and replaces the one at the path, at once. While the connection is broken it tries again;
 * when it gives up, the next upload of the same file to the same path continues with what has arrived.
 */
export async function uploadFile(target: UploadTarget, file: File, options: Options) {
  if (file.size > maxWholeBytes) return uploadInPieces(target, file, options)
  const failures = countFailures(options.signal)
  for (;;) {
    try {
      await sendBytes({ ...target, append: false }, file, options)
      return
    } catch (error) {
      await failures.wait(error)
    }
  }
}

async function uploadInPieces(
  { machineId, path }: UploadTarget,
  file: File,
  { onSent, signal }: Options,
): Promise<void> {
  const { files } = await machineHandle(machineId)
  const part = { machineId, path: partPath(path, file), append: true }
  const failures = countFailures(signal)
  let restarts = 0
  try {
    for (;;) {
      try {
        // Nothing is added, and the answer has the size.
        let kept = (await files.write(part.path, '', { append: true, signal })).size
        onSent(Math.min(kept, file.size))
        while (kept < file.size) {
          const piece = file.slice(kept, kept + pieceBytes)
          const from = kept
          kept = await sendBytes(part, piece, { signal, onSent: (sent) => onSent(from + sent) })
          // Another upload, or a late rest of a broken one, has written too.
          if (kept !== from + piece.size) break
          failures.forget()
        }
        if (kept === file.size) break
        await files.delete(part.path, { signal })
        if (++restarts > maxRestarts)
          throw new ApiError(
            'conflict',
            'Another upload of this file is in progress. Try again when it has ended.',
          )
      } catch (error) {
        await failures.wait(error)
      }
    }
    await files.move(part.path, path, { overwrite: true, signal })
  } catch (error) {
    // Cancelled on purpose: nothing continues it.
    if (signal.aborted) await files.delete(part.path).catch(() => {})
    throw error
  }
}

/** The same for the same file, also after the page was closed. */
function partPath(path: string, { size, lastModified }: File): string {
  const end = path.lastIndexOf('/') + 1
  const mark = [hash(path.slice(end)), size, lastModified].map((one) => one.toString(36)).join('-')
  return `${path.slice(0, end)}.upload-${mark}.part`
}

/** FNV-1a over 32 bits: pages without https have no SubtleCrypto. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text))
    value = Math.imul(value ^ byte, 0x01000193) >>> 0
  return value
}

function countFailures(signal: AbortSignal) {
  let count = 0
  return {
    forget: () => void (count = 0),
    /** Waits before the next try; throws the error if there is none. */
    async wait(error: unknown): Promise<void> {
      const isPassing =
        error instanceof ApiError &&
        (error.code === 'connection_failed' || error.code === 'compute_unavailable')
      const delayMs = retryDelaysMs[count++]
      if (signal.aborted || !isPassing || delayMs === undefined) throw error
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, delayMs)
        const end = () => {
          clearTimeout(timer)
          resolve()
        }
        signal.addEventListener('abort', end, { once: true })
        window.addEventListener('online', end, { once: true })
      })
      signal.throwIfAborted()
    },
  }
}
