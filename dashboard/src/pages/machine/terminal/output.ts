/** Output that waits for the emulator beyond this is skipped: the machine writes faster than a page can show. */
const maxWaitingBytes = 8 * 1024 * 1024
/** As much as the server sends to a new client. */
const keptBytes = 256 * 1024
/** More would only wait inside the emulator. */
const maxInEmulatorBytes = 512 * 1024

export type Output = {
  push(bytes: Uint8Array, kind?: 'replay' | 'live'): void
  /** Forgets what waits and empties the screen, because all of it is sent again. */
  restart(): void
}

type Chunk = { readonly bytes: Uint8Array; readonly isReplay: boolean }

/** Passes output to the emulator at its pace and holds a bounded amount of it. */
export function createOutput({
  write,
  onReplay,
}: {
  readonly write: (bytes: Uint8Array | string, parsed?: () => void) => void
  /** Called around the parsing of output that was shown before. */
  readonly onReplay: (isReplaying: boolean) => void
}): Output {
  let waiting: Chunk[] = []
  let waitingBytes = 0
  let inEmulatorBytes = 0

  const pump = () => {
    while (waiting.length > 0 && inEmulatorBytes < maxInEmulatorBytes) {
      const { bytes, isReplay } = waiting.shift()!
      waitingBytes -= bytes.length
      inEmulatorBytes += bytes.length
      if (isReplay) write('', () => onReplay(true))
      write(bytes, () => {
        inEmulatorBytes -= bytes.length
        if (isReplay) onReplay(false)
        pump()
      })
    }
  }
  const skip = () => {
    while (waitingBytes > keptBytes && waiting.length > 1) {
      waitingBytes -= waiting.shift()!.bytes.length
    }
    // What was skipped may have switched modes and character sets.
    write(resetAll)
    write('\x1b[2m[Output was skipped here: it came faster than this page can show it.]\x1b[0m\r\n')
  }
  return {
    push(bytes, kind = 'live') {
      waiting.push({ bytes, isReplay: kind === 'replay' })
      waitingBytes += bytes.length
      if (waitingBytes > maxWaitingBytes) skip()
      pump()
    },
    restart() {
      waiting = []
      waitingBytes = 0
      write(resetAll)
    },
  }
}

/** In the order of the output, unlike `reset()` of the emulator. */
const resetAll = '\x1bc'
