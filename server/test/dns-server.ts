import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Lifetime } from './harness.ts'

/**
 * A DNS server on loopback that has an IPv4 address for every name. `answer` chooses it, given how often a name was asked
 * for before; null means that the server does not answer.
 */
export async function startDnsServer(
  t: Lifetime,
  answer: (name: string, asked: number) => string | null,
) {
  const asked = new Map<string, number>()
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = readQuestion(query)
    if (type !== typeA) return socket.send(respond(query, end, null), port, address)
    const before = asked.get(name) ?? 0
    asked.set(name, before + 1)
    const found = answer(name, before)
    if (found !== null) socket.send(respond(query, end, found), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => void socket.close())
  return { server: `127.0.0.1:${socket.address().port}`, asked }
}

const headBytes = 12
const typeA = 1

function readQuestion(query: Buffer) {
  const labels: string[] = []
  let at = headBytes
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 }
}

/** The query as a response, with one record or none, which nobody may keep. */
function respond(query: Buffer, end: number, address: string | null): Buffer {
  const head = Buffer.from(query.subarray(0, end))
  head.writeUInt16BE(0x8180, 2)
  head.writeUInt16BE(address === null ? 0 : 1, 6)
  head.fill(0, 8, headBytes)
  if (address === null) return head
  const record = [0xc0, headBytes, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4]
  return Buffer.concat([head, Buffer.from([...record, ...address.split('.').map(Number)])])
}
