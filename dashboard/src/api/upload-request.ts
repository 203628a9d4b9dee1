import { ApiError } from '@computer/sdk'
import { contentUrl } from './files.ts'

/*
 * The one caller of XMLHttpRequest: unlike `fetch` it tells how much of a request has been sent. It calls
 * the public route for files, with the cookie of the session.
 */

type Target = {
  readonly machineId: string
  readonly path: string
  /** Adds to the file instead of replacing it. */
  readonly append: boolean
}

/** Resolves to the size of the whole file on the machine. */
export function sendBytes(
  { machineId, path, append }: Target,
  bytes: Blob,
  { onSent, signal }: { readonly onSent: (bytes: number) => void; readonly signal: AbortSignal },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('PUT', contentUrl(machineId, { path, append: String(append) }))
    request.withCredentials = true
    request.setRequestHeader('content-type', 'application/octet-stream')
    request.upload.onprogress = ({ loaded }) => onSent(loaded)
    request.onload = () => {
      const answer = parse(request.responseText)
      if (request.status === 200 && typeof answer?.size === 'number') resolve(answer.size)
      else reject(errorOf(request, answer))
    }
    request.onerror = () =>
      reject(new ApiError('connection_failed', 'The connection was lost during the upload.'))
    request.onabort = () => reject(signal.reason)
    const abort = () => request.abort()
    request.onloadend = () => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort)
    if (signal.aborted) reject(signal.reason)
    else request.send(bytes)
  })
}

type Answer = {
  readonly size?: unknown
  readonly error?: {
    readonly code: ApiError['code']
    readonly message: string
    readonly request_id: string
    readonly details?: ApiError['details']
  }
}

function errorOf({ status }: XMLHttpRequest, answer: Answer | null): ApiError {
  const error = answer?.error
  if (typeof error?.code !== 'string')
    return new ApiError(
      status === 503 ? 'compute_unavailable' : 'connection_failed',
      `unexpected response from the server (HTTP ${status})`,
      { status },
    )
  const { code, message, request_id: requestId, details } = error
  return new ApiError(code, message, { status, requestId, details })
}

function parse(text: string): Answer | null {
  try {
    return JSON.parse(text) as Answer | null
  } catch {
    return null
  }
}
