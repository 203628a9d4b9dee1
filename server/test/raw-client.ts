import { ErrorEnvelope } from '@computer/contract'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { Answer } from './harness.ts'

/* Connections on which a test writes every byte of its HTTP requests itself. */

const clients = new Set<Socket>()

export function disconnect(): void {
  for (const client of clients) client.destroy()
  clients.clear()
}

/** A client that is half open leaves its own end open when the server ends the connection. */
export async function open(
  t: TestContext,
  to: URL,
  { allowHalfOpen = false } = {},
): Promise<Socket> {
  const socket = connect({ port: Number(to.port), host: to.hostname, allowHalfOpen })
  clients.add(socket)
  t.after(disconnect)
  socket.setTimeout(20_000, () =>
    socket.destroy(new Error('the server neither answers nor closes')),
  )
  await once(socket, 'connect')
  return socket
}

export function head(
  method: string,
  path: string,
  headers: Readonly<Record<string, unknown>>,
): string {
  const lines = Object.entries({ host: 'localhost', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`
}

export async function write(socket: Socket, bytes: Buffer): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
}

export type Refusal = Pick<Answer, 'status' | 'body'>

/** The first response, on a connection that may stay open. */
export async function answerOf(socket: Socket): Promise<Refusal> {
  let received = ''
  for (;;) {
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    received += chunk.toString()
    const [top, body] = received.split('\r\n\r\n')
    const length = /^content-length: (\d+)/im.exec(top!)?.[1]
    if (body !== undefined && Buffer.byteLength(body) === Number(length))
      return parseAnswer(received)
  }
}

export function parseAnswer(received: string): Refusal {
  const [top, body] = received.split('\r\n\r\n') as [string, string]
  return { status: Number(top.split(' ')[1]), body: JSON.parse(body) }
}

export function refused(
  answer: Refusal,
  status: number,
  code: string,
  message = /./,
): ErrorEnvelope {
  const envelope = ErrorEnvelope.strict().parse(answer.body)
  assert.deepEqual([answer.status, envelope.error.code], [status, code])
  assert.match(envelope.error.message, message)
  return envelope
}
