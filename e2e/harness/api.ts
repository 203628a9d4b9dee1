import { once } from 'node:events'
import {
  Agent,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http'
import { buffer } from 'node:stream/consumers'
import { eventually, type Polling } from './polling.ts'

/** A response of any status. */
export type Answer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  // Tests read bodies field by field.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
  readonly bytes: Buffer
}

export type ApiClient = ReturnType<typeof createApiClient>

const answerBoundMs = 150_000

/**
 * The HTTP API on the wire: status codes, headers and error envelopes, over kept connections as a client
 * library would use them. Tests that need none of these use the SDK: `RealServer.computer`.
 */
export function createApiClient(
  baseUrl: string,
  key: string,
  credential: OutgoingHttpHeaders = { authorization: `Bearer ${key}` },
) {
  const agent = new Agent({ keepAlive: true })

  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: OutgoingHttpHeaders = {},
  ): Promise<Answer> {
    const sent = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const outgoing = request(new URL(path, baseUrl), {
      method,
      agent,
      signal: AbortSignal.timeout(answerBoundMs),
      headers: {
        ...credential,
        // Node gives the body of a DELETE no length by itself.
        ...(sent && { 'content-type': 'application/json', 'content-length': sent.length }),
        ...headers,
      },
    })
    outgoing.end(sent)
    try {
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
      const bytes = await buffer(response)
      const isJson = response.headers['content-type']?.startsWith('application/json')
      return {
        status: response.statusCode!,
        headers: response.headers,
        body: isJson ? JSON.parse(bytes.toString('utf8')) : undefined,
        bytes,
      }
    } catch (cause) {
      throw new Error(`${method} ${path}: ${(cause as Error).message}`, { cause })
    }
  }

  /** The body of a call that must succeed. */
  // oxlint-disable-next-line typescript/no-explicit-any
  async function ok<T = any>(
    method: string,
    path: string,
    body?: unknown,
    headers: OutgoingHttpHeaders = {},
  ): Promise<T> {
    const answer = await call(method, path, body, headers)
    if (answer.status >= 200 && answer.status < 300) return answer.body as T
    throw new Error(`${method} ${path}: ${answer.status} ${answer.bytes.toString('utf8')}`)
  }

  return {
    baseUrl,
    key,
    call,
    ok,

    /** Runs a command that must exit with 0; resolves to its standard output. */
    async run(id: string, command: readonly string[], options = {}): Promise<string> {
      const body = { command, ...options }
      const result = await ok<ExecResult>('POST', `/v1/machines/${id}/exec`, body)
      if (result.exit_code === 0) return result.stdout
      throw new Error(`${command.join(' ')} exited with ${result.exit_code}: ${result.stderr}`)
    },

    /** Starts a program that outlives the call. */
    async launch(id: string, command: string): Promise<void> {
      await this.run(id, ['sh', '-c', `setsid ${command} </dev/null >/dev/null 2>&1 &`])
    },

    async waitForDesktop(id: string, polling: Polling = {}): Promise<void> {
      const path = `/v1/machines/${id}/display`
      const isUp = async () => {
        const answer = await call('GET', path)
        if (answer.status === 200) return true
        if (answer.body?.error?.code === 'compute_unavailable') return false
        throw new Error(`GET ${path}: ${answer.status} ${answer.bytes.toString('utf8')}`)
      }
      await eventually(`the desktop of ${id} is up`, isUp, polling)
    },

    /** Opens a session that holds the input lease. */
    async takeLease(id: string, options = {}): Promise<Lease> {
      const session = await ok<{ id: string }>('POST', '/v1/sessions', { machine_id: id })
      const body = { session_id: session.id, ttl_seconds: 600, ...options }
      const path = `/v1/machines/${id}/input-lease`
      const { fence } = await ok<{ fence: number }>('POST', path, body)
      return { sessionId: session.id, fence }
    },
  }
}

export type Lease = { readonly sessionId: string; readonly fence: number }

type ExecResult = { readonly exit_code: number; readonly stdout: string; readonly stderr: string }
