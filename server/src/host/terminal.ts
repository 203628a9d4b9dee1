export type Terminal = {
  /** Prints a line. */
  say(line: string): void
  /** Shows what we are waiting for: updated in place on a terminal, printed once per text elsewhere. */
  wait(text: string): void
  /** Takes back what `wait` shows on a terminal. */
  clear(): void
}

export function openTerminal(stream: NodeJS.WriteStream = process.stdout): Terminal {
  const isTerminal = stream.isTTY === true && !process.env['CI']
  // The reader of our output may go away, and the server continues.
  stream.on('error', () => {})
  let waitingFor = ''
  let since = 0
  let saidSeconds = 0
  return {
    clear() {
      if (isTerminal && waitingFor) stream.write('\r\x1b[K')
      waitingFor = ''
    },
    say(line) {
      stream.write(isTerminal && waitingFor ? `\r\x1b[K${line}\n` : `${line}\n`)
      waitingFor = ''
    },
    wait(text) {
      if (text !== waitingFor) since = performance.now()
      const seconds = Math.floor((performance.now() - since) / 1000)
      if (text === waitingFor && (!isTerminal || seconds === saidSeconds)) return
      waitingFor = text
      saidSeconds = seconds
      const width = (stream.columns || 80) - 10
      stream.write(isTerminal ? `\r\x1b[K  ${text.slice(0, width)} (${seconds} s)` : `  ${text}\n`)
    },
  }
}
