import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type { ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js'

/** Tells a client that wants to know that a call is still under way, so that it does not give it up. */
export function keepAlive(
  extra: RequestHandlerExtra<ServerRequest, ServerNotification>,
  everyMs: number,
): Disposable {
  const progressToken = extra._meta?.progressToken
  if (progressToken === undefined) return { [Symbol.dispose]() {} }
  let progress = 0
  const timer = setInterval(() => {
    const params = { progressToken, progress: ++progress }
    // A client that has gone hears nothing more.
    extra.sendNotification({ method: 'notifications/progress', params }).catch(() => {})
  }, everyMs)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
