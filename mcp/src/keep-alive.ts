import type { ServerContext } from '@modelcontextprotocol/server'

/** Tells a client that wants to know that a call is still under way, so that it does not give it up. */
export function keepAlive(request: ServerContext['mcpReq'], everyMs: number): Disposable {
  const progressToken = request._meta?.progressToken
  if (progressToken === undefined) return { [Symbol.dispose]() {} }
  let progress = 0
  const timer = setInterval(() => {
    const params = { progressToken, progress: ++progress }
    // A client that has gone hears nothing more.
    request.notify({ method: 'notifications/progress', params }).catch(() => {})
  }, everyMs)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
