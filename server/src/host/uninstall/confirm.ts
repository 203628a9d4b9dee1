import { createInterface } from 'node:readline/promises'

/** Asks at the terminal for the path of the data folder, and resolves to whether it was typed. */
export async function confirmRemoval(dataDir: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new Error('not a terminal, cannot ask for confirmation; pass --yes')
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const closed = new AbortController()
  terminal.on('close', () => closed.abort())
  try {
    const question = `This deletes all machines, accounts and keys in ${dataDir}, for ever.\nType that path to go on: `
    return (await terminal.question(question, { signal: closed.signal })) === dataDir
  } catch {
    return false
  } finally {
    terminal.close()
  }
}
