const enter = [0x0d, 0x0a]
const tilde = 0x7e
const dot = 0x2e

/**
 * Filters typed input. As with ssh, `~.` at the beginning of a line detaches and `~~` sends one `~`;
 * every other byte passes unchanged.
 */
export function createEscapes(detach: () => void): (bytes: Uint8Array) => Uint8Array<ArrayBuffer> {
  let isAtStart = true
  let isEscaped = false
  return (bytes) => {
    const passed: number[] = []
    for (const byte of bytes) {
      if (isEscaped) {
        isEscaped = false
        if (byte === dot) {
          detach()
          break
        }
        passed.push(...(byte === tilde ? [tilde] : [tilde, byte]))
      } else if (isAtStart && byte === tilde) {
        isEscaped = true
        continue
      } else passed.push(byte)
      isAtStart = enter.includes(byte)
    }
    return new Uint8Array(passed)
  }
}
