import type { IncomingMessage } from 'node:http'
import { DriverError } from '../machine-driver.ts'

/** A change that the engine makes in the background. */
export type Operation = {
  readonly id: string
  readonly class: 'task' | 'websocket' | 'token'
  readonly description: string
  readonly status_code: number
  readonly resources: Readonly<Record<string, readonly string[]>> | null
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly err: string
}

/** An error response of the engine, or none at all. `status` is an HTTP status or its equivalent. */
export class EngineError extends DriverError {
  readonly status: number

  constructor(
    message: string,
    options: ErrorOptions & {
      readonly status: number
      readonly ofOperation?: boolean
      readonly ofEngine?: boolean
    },
  ) {
    // A refused request stays refused, unless the reason is the current state of the instance. An
    // operation that failed halfway may succeed later.
    const refused = [400, 401, 403, 404, 405, 412].includes(options.status)
    const momentary = /not running|is busy|already (running|stopped)|currently/i.test(message)
    super(message, {
      ...options,
      retryable: options.ofOperation === true || !refused || (options.status === 400 && momentary),
      // A daemon that has just come up may not have its network yet.
      ofEngine: options.ofEngine === true || /unavailable on this server/i.test(message),
    })
    this.status = options.status
  }
}

export function unreachable(
  what: string,
  timeoutMs: number | undefined,
  cause: unknown,
): EngineError {
  const why = timeoutMs === undefined ? reasonOf(cause) : `no answer within ${timeoutMs} ms`
  // A single call that times out may be slow because of its subject alone.
  const ofEngine = timeoutMs === undefined
  const message = `the engine cannot be reached (${what}): ${why}`
  return new EngineError(message, { status: 503, cause, ofEngine })
}

/** The metadata of a response: a value, or the operation that was started. */
export async function readReply(response: IncomingMessage, path: string): Promise<unknown> {
  const reply = parse(await readBody(response), response.statusCode ?? 500)
  if (reply.type === 'error') throw refusal(path, reply)
  return reply.metadata
}

/** The response body, for a path that does not return JSON. */
export async function readText(response: IncomingMessage, path: string): Promise<string> {
  const text = await readBody(response)
  if (response.statusCode === 200) return text
  throw refusal(path, parse(text, response.statusCode ?? 500))
}

type Reply = {
  readonly type: 'sync' | 'async' | 'error'
  readonly error: string
  readonly error_code: number
  readonly metadata: unknown
}

// Events, because an async iterator would cost a tick and a promise for every chunk.
function readBody(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
    response.on('error', reject)
    response.on('aborted', () => reject(new Error('the response broke off')))
  })
}

function refusal(path: string, reply: Reply): EngineError {
  return new EngineError(reply.error || `the engine answered ${reply.error_code}`, {
    status: reply.error_code,
    // A failed operation is returned as an error of its /wait.
    ofOperation: path.startsWith('/1.0/operations/'),
  })
}

function parse(text: string, status: number): Reply {
  try {
    return JSON.parse(text) as Reply
  } catch (cause) {
    throw new EngineError(`the engine answered ${status} without JSON`, { status: 502, cause })
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
