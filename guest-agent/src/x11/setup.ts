/** The server's description of itself to a new client. */
export type Setup = {
  readonly idBase: number
  readonly root: number
  readonly rootVisual: number
  readonly width: number
  readonly height: number
  readonly minKeycode: number
  readonly maxKeycode: number
}

/** Without authorization data: the machine's server accepts every local user. */
export function setupRequest(): Buffer {
  const request = Buffer.alloc(12)
  request[0] = 0x6c
  request.writeUInt16LE(11, 2)
  return request
}

export function parseSetup(answer: Buffer): Setup {
  if (answer[0] !== 1) {
    const reason = answer.toString('latin1', 8, 8 + answer[1]!)
    throw new Error(`the X server refused the connection: ${reason}`)
  }
  const vendorLength = answer.readUInt16LE(24)
  const formatCount = answer[29]!
  const screen = 40 + Math.ceil(vendorLength / 4) * 4 + formatCount * 8
  return {
    idBase: answer.readUInt32LE(12),
    root: answer.readUInt32LE(screen),
    rootVisual: answer.readUInt32LE(screen + 32),
    width: answer.readUInt16LE(screen + 20),
    height: answer.readUInt16LE(screen + 22),
    minKeycode: answer[34]!,
    maxKeycode: answer[35]!,
  }
}
