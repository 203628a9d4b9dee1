import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { createServer, type Socket } from 'node:net'
import { createRandom, type Random } from '../../../e2e/harness/random.ts'
import { answerAnything } from './answers.ts'
import { streamAnything } from './streams.ts'

/* An agent that root in a machine has replaced: it answers anything to anything. */

/** A path, or a name of the abstract namespace, which leaves no file behind. */
const [address = '', seed] = process.argv.slice(2)
const random = createRandom(Number(seed))
let connections = 0

createServer((socket) => {
  socket.on('error', () => {})
  const own = random.fork(`connection ${connections++}`)
  const isHttp = own.below(16) > 0
  if (isHttp) serve(socket, own)
  else own.pick(rudeness)(socket, own)
}).listen(address.startsWith('/') ? address : `\0${address}`, () => process.send?.('listening'))

// Errors of a peer that ends its streams are expected here.
process.on('uncaughtException', () => {})

function serve(socket: Socket, own: Random): void {
  const session = performServerHandshake(socket, {
    maxSessionMemory: 10_000,
    settings: {
      maxConcurrentStreams: 2 ** 31 - 1,
      initialWindowSize: own.pick([0, 65_535, 2 ** 20]),
    },
  })
  session.on('error', () => {})
  session.on('stream', (stream, { ':path': path = '' }) => {
    stream.on('error', () => {})
    const isStream = /^\/(screen|terminal|port)\b/.test(path)
    if (own.below(60) === 0) return disturb(session, own)
    if (isStream && own.below(4) > 0) return streamAnything(stream, own)
    if (own.below(10) === 0) return holdOn(stream)
    answerAnything(stream, own)
  })
}

/** Neither reads nor answers. */
function holdOn(stream: ServerHttp2Stream): void {
  stream.pause()
}

function disturb(session: ServerHttp2Session, own: Random): void {
  own.pick([
    () => session.destroy(),
    () => session.goaway(own.below(14), own.below(100)),
    () => session.close(),
    () => {
      for (let count = 0; count < 2_000; count++) session.ping(() => {})
    },
    () => {
      for (let count = 0; count < 500; count++) {
        session.settings({ initialWindowSize: own.below(2 ** 20) })
      }
    },
  ])()
}

/** Connections that are no HTTP/2, or break its rules. */
const rudeness: readonly ((socket: Socket, own: Random) => void)[] = [
  (socket) => socket.destroy(),
  (socket) => socket.end(),
  (socket) => socket.pause(),
  (socket) => void socket.write(Buffer.alloc(100_000, 'HTTP/1.1 200 OK\r\n\r\n')),
  (socket, own) =>
    void socket.write(Buffer.from(Array.from({ length: 10_000 }, () => own.below(256)))),
  // An endless header block: frames of CONTINUATION.
  (socket) => {
    socket.write(frame(4, 0, 0, Buffer.alloc(0)))
    socket.once('data', () => {
      socket.write(frame(1, 0, 1, Buffer.alloc(100)))
      for (let count = 0; count < 500; count++) {
        socket.write(frame(9, 0, 1, Buffer.alloc(1000)))
      }
    })
  },
  // Frames of streams that were never opened, and a flood of resets.
  (socket) => {
    socket.write(frame(4, 0, 0, Buffer.alloc(0)))
    socket.once('data', () => {
      for (let count = 0; count < 2_000; count++) {
        socket.write(frame(3, 0, 1 + 2 * count, Buffer.alloc(4)))
      }
    })
  },
]

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}
