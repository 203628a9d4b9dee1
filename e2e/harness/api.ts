/** One answer of the service. A test that expects a refusal looks at `status` and `body.error`. */
export type Answer = {
  readonly status: number
  readonly headers: Headers
  // Bodies are looked at field by field in the tests.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
  readonly bytes: Buffer
}

export type ApiClient = ReturnType<typeof createApiClient>

const withinMs = 150_000

/**
 * The HTTP API as it goes over the wire: status codes, headers, error envelopes. A test that looks at
 * none of them uses the SDK: `RealServer.computer`.
 */
export function createApiClient(
  baseUrl: string,
  key: string,
  credential: Readonly<Record<string, string>> = { authorization: `Bearer ${key}` },
) {
  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const answer = await fetch(`${baseUrl}${path}`, {
      method,
      signal: AbortSignal.timeout(withinMs),
      headers: {
        ...credential,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    const isJson = answer.headers.get('content-type')?.startsWith('application/json')
    const parsed = isJson ? JSON.parse(bytes.toString('utf8')) : undefined
    return { status: answer.status, headers: answer.headers, body: parsed, bytes }
  }

  /** The body of a call that must succeed. */
  async function ok(method: string, path: string, body?: unknown, headers = {}) {
    const answer = await call(method, path, body, headers)
    if (answer.status < 300) return answer.body
    throw new Error(`${method} ${path}: ${answer.status} ${answer.bytes.toString('utf8')}`)
  }

  return {
    baseUrl,
    key,
    call,
    ok,

    /** Runs a command that must exit with 0, and answers its standard output. */
    async run(id: string, command: readonly string[], options = {}): Promise<string> {
      const result = await ok('POST', `/v1/machines/${id}/exec`, { command, ...options })
      if (result.exit_code === 0) return result.stdout as string
      throw new Error(`${command.join(' ')} exited with ${result.exit_code}: ${result.stderr}`)
    },

    /** Starts a program that goes on after the call. */
    async launch(id: string, command: string): Promise<void> {
      await this.run(id, ['sh', '-c', `setsid ${command} </dev/null >/dev/null 2>&1 &`])
    },

    /** Waits out the boot of the desktop. */
    async waitForDesktop(id: string): Promise<void> {
      await eventually(`the desktop of ${id} is up`, async () => {
        const answer = await call('GET', `/v1/machines/${id}/display`)
        if (answer.status === 200) return true
        if (answer.body?.error?.code === 'compute_unavailable') return undefined
        throw new Error(`display: ${answer.status} ${answer.bytes.toString('utf8')}`)
      })
    },

    /** A session that holds the input lease. */
    async takeLease(id: string, options = {}): Promise<{ sessionId: string }> {
      const session = await ok('POST', '/v1/sessions', { machine_id: id })
      await ok('POST', `/v1/machines/${id}/input-lease`, {
        session_id: session.id,
        ttl_seconds: 600,
        ...options,
      })
      return { sessionId: session.id }
    },
  }
}

/** Polls until it sees something; fails with the name of what was waited for. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined>,
  boundMs = 60_000,
): Promise<T> {
  const deadline = Date.now() + boundMs
  for (;;) {
    const seen = await look()
    if (seen !== undefined) return seen
    if (Date.now() > deadline) throw new Error(`waited ${boundMs} ms in vain: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
