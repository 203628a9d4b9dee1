import { ApiError } from '@computer/sdk'
import { createInterface } from 'node:readline/promises'
import { buffer } from 'node:stream/consumers'
import { Exit } from './errors.ts'

/** Reads a secret: typed without echo, or the whole of standard input. */
export async function readHidden(question: string): Promise<string> {
  if (process.stdin.isTTY) return typeHidden(question)
  const bytes = await buffer(process.stdin)
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    // `echo value |` and most editors append a line feed.
    return text.replace(/\r?\n$/, '')
  } catch {
    throw new ApiError('invalid_request', 'standard input is not UTF-8')
  }
}

/** Asks before an irreversible action. Scripts pass --yes instead. */
export async function confirm(question: string, { yes }: { readonly yes?: true | undefined }) {
  if (yes) return
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new ApiError('invalid_request', 'not a terminal, cannot ask for confirmation; pass --yes')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const interrupted = new AbortController()
  terminal.on('SIGINT', () => interrupted.abort())
  terminal.on('close', () => interrupted.abort())
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal: interrupted.signal })
    if (/^y(es)?$/i.test(answer.trim())) return
  } catch {
    process.stderr.write('\n')
    throw new Exit(130)
  } finally {
    terminal.close()
  }
  console.error('Canceled; nothing was changed.')
  throw new Exit(1)
}

async function typeHidden(question: string): Promise<string> {
  const { stdin, stderr } = process
  // Before the prompt, so that an immediate answer is not echoed.
  stdin.setRawMode(true)
  stderr.write(`${question}: `)
  stdin.setEncoding('utf8')
  try {
    let typed = ''
    for await (const text of stdin.iterator({ destroyOnReturn: false }) as AsyncIterable<string>) {
      for (const character of text) {
        if (character === '\r' || character === '\n') return typed
        if (character === '\x03' || (character === '\x04' && typed === '')) throw new Exit(130)
        if (character === '\x7f' || character === '\b') typed = [...typed].slice(0, -1).join('')
        else if (character === '\x15') typed = ''
        else if (character >= ' ') typed += character
      }
    }
    throw new Exit(130)
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
    stderr.write('\n')
  }
}
