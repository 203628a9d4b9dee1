import { connect } from 'node:net'
import { on } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { desktopDown, AgentError } from '../errors.ts'
import type { XSession } from '../x11/session.ts'

type Size = { readonly width: number; readonly height: number }

/**
 * Resizes the display through RFB's SetDesktopSize, which takes any geometry; RANDR would need a
 * mode to be created first. Resolves when the X server has the new size.
 */
export async function resizeDisplay(
  session: XSession,
  rfbSocketPath: string,
  wanted: Size,
): Promise<void> {
  const { size, x } = session
  if (size.width === wanted.width && size.height === wanted.height) return
  await setDesktopSize(rfbSocketPath, wanted)
  const deadline = performance.now() + resizeTimeoutMs
  for (;;) {
    await x.sync()
    if (size.width === wanted.width && size.height === wanted.height) return
    if (performance.now() > deadline)
      throw desktopDown('the display did not change to the new size; try again')
    await pause(2)
  }
}

const resizeTimeoutMs = 3000
const rfbTimeoutMs = 5000
const extendedDesktopSize = -308

async function setDesktopSize(path: string, { width, height }: Size): Promise<void> {
  const socket = connect(path)
  const timer = setTimeout(() => socket.destroy(new Error('no response in time')), rfbTimeoutMs)
  const read = reader(socket)
  try {
    await read(12)
    socket.write('RFB 003.008\n')
    const types = await read((await read(1))[0]!)
    const none = 1
    if (!types.includes(none)) throw new Error('the RFB server requires a password')
    socket.write(Buffer.from([none]))
    await read(4)
    const shared = 1
    socket.write(Buffer.from([shared]))
    const server = await read(24)
    await read(server.readUInt32BE(20))

    // The server reports the geometry with an update, so it requests one, of a single pixel.
    socket.write(Buffer.concat([setEncodings(), updateRequest({ incremental: false })]))
    let layout = await readUpdate(read)
    while (!layout) layout = await readUpdate(read)
    socket.write(setSize(width, height, layout.screenId))
    for (;;) {
      socket.write(updateRequest({ incremental: true }))
      const answer = await readUpdate(read)
      const byThisClient = 1
      if (answer?.reason !== byThisClient) continue
      if (answer.status === 0) return
      throw new AgentError('invalid_request', `the display does not support ${width}x${height}`)
    }
  } catch (error) {
    if (error instanceof AgentError) throw error
    throw desktopDown(`the display could not be resized: ${(error as Error).message}`)
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}

function setEncodings(): Buffer {
  const message = Buffer.alloc(8)
  message[0] = 2
  message.writeUInt16BE(1, 2)
  message.writeInt32BE(extendedDesktopSize, 4)
  return message
}

function updateRequest(options: { readonly incremental: boolean }): Buffer {
  const message = Buffer.alloc(10)
  message[0] = 3
  message[1] = options.incremental ? 1 : 0
  message.writeUInt16BE(1, 6)
  message.writeUInt16BE(1, 8)
  return message
}

function setSize(width: number, height: number, screenId: number): Buffer {
  const message = Buffer.alloc(24)
  message[0] = 251
  message.writeUInt16BE(width, 2)
  message.writeUInt16BE(height, 4)
  message[6] = 1
  message.writeUInt32BE(screenId, 8)
  message.writeUInt16BE(width, 16)
  message.writeUInt16BE(height, 18)
  return message
}

type Read = (length: number) => Promise<Buffer>
type DesktopSize = { readonly reason: number; readonly status: number; readonly screenId: number }

/** Skips to the next framebuffer update. Returns the geometry if the update reports one. */
async function readUpdate(read: Read): Promise<DesktopSize | undefined> {
  for (;;) {
    const kind = (await read(1))[0]!
    if (kind === 0) break
    if (kind === 1) await read((await read(5)).readUInt16BE(3) * 6)
    else if (kind === 3) await read((await read(7)).readUInt32BE(3))
    else if (kind !== 2) throw new Error(`unexpected RFB message ${kind}`)
  }
  const count = (await read(3)).readUInt16BE(1)
  let found: DesktopSize | undefined
  for (let index = 0; index < count; index++) {
    const head = await read(12)
    if (head.readInt32BE(8) !== extendedDesktopSize) {
      await read(head.readUInt16BE(4) * head.readUInt16BE(6) * 4)
      continue
    }
    const screens = await read((await read(4))[0]! * 16)
    const screenId = screens.length > 0 ? screens.readUInt32BE(0) : 0
    found = { reason: head.readUInt16BE(0), status: head.readUInt16BE(2), screenId }
  }
  return found
}

/** Reads exactly as many bytes as each call asks for. */
function reader(socket: ReturnType<typeof connect>): Read {
  const chunks = on(socket, 'data', { close: ['end', 'close'] })
  let buffered = Buffer.alloc(0)
  return async (length) => {
    while (buffered.length < length) {
      const { value, done } = await chunks.next()
      if (done) throw new Error('the connection ended')
      buffered = Buffer.concat([buffered, (value as [Buffer])[0]])
    }
    const bytes = buffered.subarray(0, length)
    buffered = buffered.subarray(length)
    return bytes
  }
}
