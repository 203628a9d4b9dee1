/** A network between client and server in which a test can intercept requests. */
export type Network = {
  readonly fetch: typeof globalThis.fetch
  /** All requests in order. */
  readonly sent: Sent[]
  /** Intercepts the next request whose method and path contain `matches`. */
  next(matches: string, intercept: (send: () => Promise<Response>) => Promise<Response>): void
  /** Number of requests whose method and path start with `prefix`. */
  count(prefix: string): number
}
export type Sent = {
  readonly what: string
  readonly headers: Headers
  readonly body: unknown
  status: number | null
}

export function createNetwork(): Network {
  const sent: Sent[] = []
  const interceptors: { matches: string; intercept: Parameters<Network['next']>[1] }[] = []
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url)
    const what = `${init.method} ${pathname}`
    const entry: Sent = { what, headers: new Headers(init.headers), body: init.body, status: null }
    sent.push(entry)
    const send = () => globalThis.fetch(url, init)
    const index = interceptors.findIndex(({ matches }) => what.includes(matches))
    const response = await (index < 0 ? send() : interceptors.splice(index, 1)[0]!.intercept(send))
    entry.status = response.status
    return response
  }
  return {
    fetch: fetch as typeof globalThis.fetch,
    sent,
    next: (matches, intercept) => void interceptors.push({ matches, intercept }),
    count: (prefix) => sent.filter(({ what }) => what.startsWith(prefix)).length,
  }
}

/** The server handles the request, but the response is lost. */
export async function lose(send: () => Promise<Response>): Promise<Response> {
  await (await send()).arrayBuffer()
  throw new TypeError('fetch failed', { cause: new Error('other side closed') })
}

/** A response made up by the test. */
export function answer(status: number, code: string, headers: Record<string, string> = {}) {
  const error = { code, message: 'simulated by the test', request_id: 'req_1' }
  return async () => new Response(JSON.stringify({ error }), { status, headers })
}
