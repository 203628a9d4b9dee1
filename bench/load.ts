import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Sample } from './measure.ts'

export type Load = {
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  /** Each sends its next request when the answer to its last one is whole. */
  readonly connections: number
  readonly requests: number
  /** What every answer has to be, byte for byte; it is ASCII. */
  readonly body: string
}

/**
 * GETs one address as often as told, over connections that stand when the time begins. It writes and
 * reads HTTP by hand: a client library would take longer for a request than the servers it measures.
 */
export async function runLoad(load: Load): Promise<Sample> {
  const sockets = await Promise.all(Array.from({ length: load.connections }, () => open(load.url)))
  try {
    const request = Buffer.from(writeRequest(load))
    const answers: Answers = { unsent: load.requests, wrong: undefined }
    const start = performance.now()
    await Promise.all(sockets.map((socket) => ask(socket, request, load.body, answers)))
    return { ms: performance.now() - start, wrong: answers.wrong }
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

type Answers = { unsent: number; wrong: string | undefined }

async function open({ hostname, port }: URL): Promise<Socket> {
  const socket = connect(Number(port), hostname).setNoDelay(true).setEncoding('latin1')
  await once(socket, 'connect')
  return socket
}

function ask(socket: Socket, request: Buffer, body: string, answers: Answers): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = ''
    const next = () => {
      if (answers.unsent === 0) return resolve()
      answers.unsent -= 1
      socket.write(request)
    }
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the server closed a connection')))
    socket.on('data', (part: string) => {
      text += part
      const answer = readAnswer(text)
      if (!answer) return
      text = ''
      if (answer.status !== 200 || answer.body !== body) {
        answers.wrong ??= `${answer.status} ${answer.body.slice(0, 200)}`
      }
      next()
    })
    next()
  })
}

function writeRequest({ url, headers = {} }: Load): string {
  const lines = Object.entries({ host: url.host, ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  return [`GET ${url.pathname} HTTP/1.1`, ...lines, '', ''].join('\r\n')
}

/** The answer, once it is whole. */
function readAnswer(text: string): { readonly status: number; readonly body: string } | undefined {
  const head = text.indexOf('\r\n\r\n')
  if (head === -1) return undefined
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? NaN)
  const body = text.slice(head + 4)
  if (body.length < length) return undefined
  return { status: Number(text.slice(9, 12)), body }
}
