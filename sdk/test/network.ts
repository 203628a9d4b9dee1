/** A network between a client and its server that does what a test wants done to a request. */
export type Network = {
  readonly fetch: typeof globalThis.fetch
  /** What was sent, in order: method and path, with its headers and body. */
  readonly sent: Sent[]
  /** Does something to the next request that `matches`, in place of sending it as it is. */
  next(matches: string, fate: (send: () => Promise<Response>) => Promise<Response>): void
  /** Requests whose method and path begin so. */
  count(begin: string): number
}
export type Sent = {
  readonly what: string
  readonly headers: Headers
  readonly body: unknown
  status: number | null
}

export function createNetwork(): Network {
  const sent: Sent[] = []
  const fates: { matches: string; fate: Parameters<Network['next']>[1] }[] = []
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { pathname } = new URL(url)
    const what = `${init.method} ${pathname}`
    const entry: Sent = { what, headers: new Headers(init.headers), body: init.body, status: null }
    sent.push(entry)
    const send = () => globalThis.fetch(url, init)
    const index = fates.findIndex(({ matches }) => what.includes(matches))
    const response = await (index < 0 ? send() : fates.splice(index, 1)[0]!.fate(send))
    entry.status = response.status
    return response
  }
  return {
    fetch: fetch as typeof globalThis.fetch,
    sent,
    next: (matches, fate) => void fates.push({ matches, fate }),
    count: (begin) => sent.filter(({ what }) => what.startsWith(begin)).length,
  }
}

/** The server does it, and its answer gets lost. */
export async function lose(send: () => Promise<Response>): Promise<Response> {
  await (await send()).arrayBuffer()
  throw new TypeError('fetch failed', { cause: new Error('other side closed') })
}

/** An answer that the server did not give. */
export function answer(status: number, code: string, headers: Record<string, string> = {}) {
  const error = { code, message: 'a test says so', request_id: 'req_1' }
  return async () => new Response(JSON.stringify({ error }), { status, headers })
}
