import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { readConfig, type Config } from '../src/config.ts'
import { createRoutes } from '../src/routes.ts'
import { createAgentServer } from '../src/server.ts'

export type Answer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  // oxlint-disable-next-line typescript/no-explicit-any -- of any route
  readonly json: any
}

/** The agent of a machine whose desktop is a test's X server, as the server calls it. */
export async function startDesktopAgent(settings: Partial<Config>) {
  const folder = mkdtempSync(join(tmpdir(), 'computer-desktop-agent-'))
  const server = createAgentServer(createRoutes({ ...readConfig({}), ...settings }))
  server.listen(join(folder, 'agent.sock'))
  await once(server, 'listening')
  const socket = connectSocket(join(folder, 'agent.sock'))
  const session = connect('http://agent', { createConnection: () => socket })

  const request = (method: string, path: string, query: Query): ClientHttp2Stream => {
    const search = new URLSearchParams(Object.entries(query)).toString()
    return session.request({ ':method': method, ':path': `${path}?${search}` })
  }
  const answerOf = async (stream: ClientHttp2Stream): Promise<Answer> => {
    const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders]
    const body = await buffer(stream)
    const isJson = headers['content-type'] === 'application/json'
    return {
      status: Number(headers[':status']),
      headers,
      json: isJson ? JSON.parse(body.toString()) : null,
    }
  }
  return {
    get: (path: string, query: Query = {}): Promise<Answer> => {
      const stream = request('GET', path, query)
      const answer = answerOf(stream)
      stream.end()
      return answer
    },
    post: (path: string, body: object): Promise<Answer> => {
      const stream = request('POST', path, {})
      const answer = answerOf(stream)
      stream.end(JSON.stringify(body))
      return answer
    },
    /** A stream both ways, with its status. */
    async open(path: string, query: Query = {}) {
      const stream = request('POST', path, query)
      stream.on('error', () => {})
      const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders]
      return { stream, status: Number(headers[':status']) }
    },
    [Symbol.dispose]() {
      session.destroy()
      server.close()
      rmSync(folder, { recursive: true })
    },
  }
}

export type DesktopAgent = Awaited<ReturnType<typeof startDesktopAgent>>

type Query = Readonly<Record<string, string>>
