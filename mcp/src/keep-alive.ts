import type { ServerContext } from '@modelcontextprotocol/server'

/** Sends progress notifications to clients that request them, so that long calls do not time out. */
export function keepAlive(request: ServerContext['mcpReq'], everyMs: number): Disposable {
  const progressToken = request._meta?.progressToken
  if (progressToken === undefined) return { [Symbol.dispose]() {} }
  let progress = 0
  const timer = setInterval(() => {
    const params = { progressToken, progress: ++progress }
    // The client may have disconnected.
    request.notify({ method: 'notifications/progress', params }).catch(() => {})
  }, everyMs)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
