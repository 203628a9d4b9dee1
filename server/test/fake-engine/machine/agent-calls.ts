import { once } from 'node:events'
import {
  connect,
  constants,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import { finished } from 'node:stream'
import type { MachineAgent } from './agent.ts'

const windowBytes = 1024 * 1024

/**
 * Hands one call to the agent, on a connection of its own: bodies, half-closed streams, resets and
 * backpressure pass both ways as they come.
 */
export function forward(
  agent: MachineAgent,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): void {
  if (stream.destroyed) return
  const hasBody = !stream.endAfterHeaders && !stream.readableEnded
  const session = openSession(agent)
  const call = session.request(
    {
      ':method': headers[':method'],
      ':path': headers[':path'],
      ...(headers['content-type'] && { 'content-type': headers['content-type'] }),
    },
    { endStream: !hasBody },
  )
  call.on('error', () => {})
  if (hasBody) {
    stream.pipe(call, { end: false })
    stream.once('end', () => {
      // A stream that was reset ends as well.
      if (stream.aborted || stream.closed || stream.destroyed) call.close(constants.NGHTTP2_CANCEL)
      else call.end()
    })
  }
  stream.once('close', () => call.close(constants.NGHTTP2_CANCEL))
  call.once('response', ({ ':status': status, ...rest }) => {
    if (stream.destroyed) return
    stream.respond({ ':status': status, ...rest })
    call.pipe(stream)
  })
  call.once('close', () => {
    session.destroy()
    const isAnswered = call.readableEnded && call.rstCode === constants.NGHTTP2_NO_ERROR
    if (!isAnswered) return stream.close(call.rstCode || constants.NGHTTP2_CANCEL)
    // The agent has answered without reading the rest of the body.
    const isUnread = hasBody && !stream.readableEnded
    if (isUnread) finished(stream, { readable: false }, () => stream.close())
  })
}

/** Resolves when the agent has accepted the body. */
export async function deliver(
  agent: MachineAgent,
  { method, path }: { readonly method: string; readonly path: string },
  body: unknown,
): Promise<void> {
  const session = openSession(agent)
  try {
    const call = session.request({ ':method': method, ':path': path })
    call.end(JSON.stringify(body))
    const [{ ':status': status }] = await once(call, 'response')
    if (status !== 200) throw new Error(`the agent answered ${method} ${path} with ${status}`)
  } finally {
    session.destroy()
  }
}

function openSession(agent: MachineAgent): ClientHttp2Session {
  const session = connect('http://agent', {
    createConnection: () => agent.connect(),
    settings: { enablePush: false, initialWindowSize: windowBytes, maxFrameSize: 256 * 1024 },
  })
  session.on('error', () => {})
  session.once('remoteSettings', () => session.setLocalWindowSize(windowBytes))
  return session
}
