import type { DirectoryEntry, Machine } from '@computer/sdk'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { showPicture } from '../pictures.ts'
import { bytesInWords } from '../text.ts'
import { destroys, looks, Refusal, tool, type Answer, type Call, type Tool } from '../tool.ts'

const path = z.string().min(1).max(4096)
const maxTextBytes = 64 * 1024
const maxPictureBytes = 20 * 1024 * 1024

export const fileTools: readonly Tool[] = [
  tool({
    name: 'list_files',
    title: 'List a directory',
    description:
      'List the files in a directory of a machine, with type, size and permissions. To search a ' +
      'tree, use run_command with find or grep.',
    input: z.strictObject({
      machine,
      path: path.optional().describe('Absolute, or relative to the home. Default: the home.'),
      cursor: z.string().min(1).optional().describe('Where the page before said to go on.'),
    }),
    annotations: looks,
    async run(call, { cursor, ...input }) {
      const found = await findMachine(call, input.machine)
      const { signal } = call
      const page = await found.files.list(input.path, { limit: 100, cursor, signal })
      if (page.data.length === 0) return 'The directory is empty.'
      const more = page.nextCursor ? [`There are more: cursor ${page.nextCursor}`] : []
      return [...page.data.map(describeEntry), ...more].join('\n')
    },
  }),
  tool({
    name: 'read_file',
    title: 'Read a file',
    description:
      'Read a text file of a machine, in pieces of 64 KiB, or look at a picture (PNG, JPEG, GIF, ' +
      'WebP). Other binary files are refused: use run_command to look into them.',
    input: z.strictObject({
      machine,
      path: path.describe('Absolute, or relative to the home.'),
      offset: z.int().min(0).optional().describe('Where to begin, in bytes. Default: 0.'),
    }),
    annotations: looks,
    async run(call, { path, offset = 0, ...input }) {
      return readFile(call, await findMachine(call, input.machine), path, offset)
    },
  }),
  tool({
    name: 'write_file',
    title: 'Write a file',
    description:
      'Write a text file on a machine, or append to one; directories above it are made. It replaces ' +
      'what was there: read_file first, unless you know. For a small change in a long file use ' +
      'run_command with sed or python3.',
    input: z.strictObject({
      machine,
      path: path.describe('Absolute, or relative to the home.'),
      content: z.string().max(1_000_000),
      append: z.boolean().optional(),
      mode: z
        .string()
        .regex(/^[0-7]{3,4}$/)
        .optional()
        .describe('Octal permissions, such as 0755 for a program.'),
    }),
    annotations: destroys,
    async run(call, { path, content, ...input }) {
      const found = await findMachine(call, input.machine)
      const { append, mode } = input
      const options = { append, mode, signal: call.signal }
      const written = await found.files.write(path, content, options)
      return `Wrote ${written.path}, which has ${bytesInWords(written.size)} now.`
    },
  }),
]

async function readFile(
  { signal }: Call,
  found: Machine,
  path: string,
  offset: number,
): Promise<Answer> {
  const { bytes, isWhole } = await readPiece(await found.files.stream(path, { offset, signal }))
  if (offset === 0 && isPicture(bytes)) {
    const whole = await found.files.read(path, { maxBytes: maxPictureBytes, signal })
    const { content, original } = await showPicture(whole).catch((cause: unknown) => {
      const message = `${path} begins like a picture, but cannot be shown: it is broken, or too large.`
      throw new Refusal(message, { cause })
    })
    return [content, { type: 'text', text: `${path}: ${original.width}x${original.height} pixels` }]
  }
  const length = isWhole ? bytes.length : endOfText(bytes)
  const text = decode(bytes.subarray(0, length))
  if (text === null) {
    throw new Refusal(
      `${path} is binary. Look into it with run_command: "file" tells what it is, "unzip -l", ` +
        '"tar -tf", "pdftotext", "strings" and "xxd" show what is in it.',
    )
  }
  const next = isWhole ? '' : `There is more: go on with offset ${offset + length}.`
  if (text === '') return 'The file is empty.'
  return [{ type: 'text', text }, ...(next ? [{ type: 'text' as const, text: next }] : [])]
}

async function readPiece(stream: ReadableStream<Uint8Array>) {
  const pieces: Uint8Array[] = []
  let length = 0
  // Leaving the loop ends the stream.
  for await (const piece of stream) {
    pieces.push(piece)
    length += piece.length
    if (length > maxTextBytes) break
  }
  const bytes = Buffer.concat(pieces).subarray(0, maxTextBytes)
  return { bytes, isWhole: length <= maxTextBytes }
}

/** Where the last whole character ends. */
function endOfText(bytes: Uint8Array): number {
  let start = bytes.length - 1
  while (start > bytes.length - 4 && (bytes[start]! & 0xc0) === 0x80) start--
  const first = bytes[start]!
  const width = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1
  return start + width > bytes.length ? start : bytes.length
}

function decode(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

/** By what they begin with: a name may lie. */
function isPicture(bytes: Buffer): boolean {
  const begin = bytes.toString('latin1', 0, 12)
  return /^(\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|RIFF[^]{4}WEBP)/.test(begin)
}

function describeEntry({ name, type, size, mode, owner, target }: DirectoryEntry): string {
  const what = type === 'file' ? bytesInWords(size) : type
  return `${mode} ${owner} ${name}${type === 'directory' ? '/' : ''} (${what})${target ? ` -> ${target}` : ''}`
}
