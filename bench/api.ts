import { Agent, request, type IncomingHttpHeaders } from 'node:http'

/** Calls the HTTP API over one connection that is kept, as a client library would. */
export type Api = {
  readonly baseUrl: string
  readonly key: string
  /** Any status is an answer. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  /** The JSON body of a success; anything else is an error that says what came instead. */
  json<T>(method: string, path: string, body?: unknown): Promise<T>
  close(): void
}

export type CallOptions = {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export type Answer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

const timeoutMs = 150_000

export function openApi(baseUrl: string, key: string): Api {
  const agent = new Agent({ keepAlive: true })

  function call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const body = options.body === undefined ? undefined : JSON.stringify(options.body)
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      }),
      ...options.headers,
    }
    return new Promise((resolve, reject) => {
      const url = new URL(path, baseUrl)
      const out = request(url, { method, headers, agent, timeout: timeoutMs }, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          const { statusCode: status = 0, headers: head } = answer
          resolve({ status, headers: head, body: Buffer.concat(chunks) })
        })
      })
      out.on('timeout', () => out.destroy(new Error(`${method} ${path}: no answer`)))
      out.on('error', (error) => reject(new Error(`${method} ${path}: ${error.message}`)))
      out.end(body)
    })
  }

  return {
    baseUrl,
    key,
    call,
    async json<T>(method: string, path: string, body?: unknown) {
      const answer = await call(method, path, { body })
      const text = answer.body.toString('utf8')
      if (answer.status < 200 || answer.status > 299) {
        throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`)
      }
      return (text === '' ? undefined : JSON.parse(text)) as T
    },
    close: () => agent.destroy(),
  }
}
