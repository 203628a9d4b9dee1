import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { Lifetime } from './harness.ts'

/** A received mail. */
export type Letter = {
  readonly recipients: readonly string[]
  /** By name in lower case, unfolded and decoded. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/**
 * A mail server on loopback that records accepted mails. `answer` may replace the default reply to a
 * command, or to the end of a mail, which is passed as a dot followed by the mail.
 */
export async function startSmtpServer(
  t: Lifetime,
  options: {
    readonly port?: number
    readonly answer?: (command: string) => Promise<string | undefined> | string | undefined
  } = {},
) {
  const letters: Letter[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    const conversation = converse(socket, async (command, recipients) => {
      const unusual = await options.answer?.(command)
      if (unusual !== undefined) return unusual
      if (command.startsWith('.')) letters.push(readLetter(command.slice(1), recipients))
      return usual[/^\w+/.exec(command)?.[0] ?? ''] ?? '250 ok'
    })
    // Either side may disconnect.
    conversation.catch(() => socket.destroy())
  })
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stop = async () => {
    for (const socket of sockets) socket.destroy()
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }
  t.after(stop)
  return { url: `smtp://127.0.0.1:${port}`, port, letters, stop }
}

const usual: Record<string, string> = { DATA: '354 go on', QUIT: '221 bye', STARTTLS: '502 no' }

async function converse(
  socket: Socket,
  answer: (command: string, recipients: string[]) => Promise<string>,
): Promise<void> {
  let recipients: string[] = []
  let text = ''
  let end = '\r\n'
  socket.write('220 test\r\n')
  for await (const chunk of socket.setEncoding('utf8')) {
    text += chunk
    for (let at = text.indexOf(end); at >= 0; at = text.indexOf(end)) {
      const said = text.slice(0, at)
      text = text.slice(at + end.length)
      const isMail = end !== '\r\n'
      end = '\r\n'
      if (said.startsWith('MAIL')) recipients = []
      const answered = await answer(isMail ? `.${said}` : said, recipients)
      const recipient = /^RCPT TO:<(.*)>/.exec(said)?.[1]
      if (recipient !== undefined && answered.startsWith('2')) recipients.push(recipient)
      if (answered.startsWith('354')) end = '\r\n.\r\n'
      socket.write(`${answered}\r\n`)
      if (said === 'QUIT') socket.end()
    }
  }
}

function readLetter(mail: string, recipients: readonly string[]): Letter {
  const at = mail.indexOf('\r\n\r\n')
  const lines = mail
    .slice(0, at)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  const headers = new Map(
    lines.map((line) => {
      const [name = '', ...value] = line.split(':')
      return [name.toLowerCase(), decodeWords(value.join(':').trim())]
    }),
  )
  const body = mail.slice(at + 4)
  const isQuoted = headers.get('content-transfer-encoding') === 'quoted-printable'
  return { recipients: [...recipients], headers, body: isQuoted ? unquote(body) : body }
}

/** Decodes encoded words (RFC 2047). */
function decodeWords(text: string): string {
  return text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?q\?(.*?)\?=/gi, (_, word: string) => unquote(word.replaceAll('_', ' ')))
    .replace(/=\?utf-8\?b\?(.*?)\?=/gi, (_, word: string) => Buffer.from(word, 'base64').toString())
}

function unquote(text: string): string {
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
