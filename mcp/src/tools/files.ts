import type { DirectoryEntry, Machine } from '@computer/sdk'
import { z } from 'zod'
import { findMachine, machine } from '../find-machine.ts'
import { renderImage } from '../images.ts'
import { formatBytes } from '../text.ts'
import { ToolError } from '../tool-error.ts'
import { destructive, readOnly, tool, type ToolResult, type ToolCall, type Tool } from '../tool.ts'

const path = z.string().min(1).max(4096)
const maxTextBytes = 64 * 1024
const maxImageBytes = 20 * 1024 * 1024

export const fileTools: readonly Tool[] = [
  tool({
    name: 'list_files',
    title: 'List a directory',
    description:
      'List the files in a directory of a machine, with type, size and permissions. To search a ' +
      'tree, use run_command with find or grep.',
    input: z.strictObject({
      machine,
      path: path
        .optional()
        .describe('Absolute, or relative to the home directory. Default: the home directory.'),
      cursor: z.string().min(1).optional().describe('Cursor given with the previous page.'),
    }),
    annotations: readOnly,
    async run(call, { cursor, ...input }) {
      const found = await findMachine(call, input.machine)
      const { signal } = call
      const page = await found.files.list(input.path, { limit: 100, cursor, signal })
      if (page.data.length === 0) return 'The directory is empty.'
      const more = page.nextCursor
        ? [`There are more; continue with cursor ${page.nextCursor}`]
        : []
      return [...page.data.map(describeEntry), ...more].join('\n')
    },
  }),
  tool({
    name: 'read_file',
    title: 'Read a file',
    description:
      'Read a text file of a machine, 64 KiB at a time, or view an image (PNG, JPEG, GIF, WebP). ' +
      'Other binary files are refused: use run_command to inspect them.',
    input: z.strictObject({
      machine,
      path: path.describe('Absolute, or relative to the home directory.'),
      offset: z.int().min(0).optional().describe('Byte offset to start from. Default: 0.'),
    }),
    annotations: readOnly,
    async run(call, { path, offset = 0, ...input }) {
      return readFile(call, await findMachine(call, input.machine), path, offset)
    },
  }),
  tool({
    name: 'write_file',
    title: 'Write a file',
    description:
      'Write a text file on a machine, or append to one, creating parent directories. It replaces an ' +
      'existing file: use read_file first unless you know its content. For a small change in a long ' +
      'file, use run_command with sed or python3.',
    input: z.strictObject({
      machine,
      path: path.describe('Absolute, or relative to the home directory.'),
      content: z.string().max(1_000_000),
      append: z.boolean().optional(),
      mode: z
        .string()
        .regex(/^[0-7]{3,4}$/)
        .optional()
        .describe('Octal permissions, such as 0755 for a program.'),
    }),
    annotations: destructive,
    async run(call, { path, content, ...input }) {
      const found = await findMachine(call, input.machine)
      const { append, mode } = input
      const options = { append, mode, signal: call.signal }
      const written = await found.files.write(path, content, options)
      return `Wrote ${written.path}, now ${formatBytes(written.size)}.`
    },
  }),
]

async function readFile(
  { signal }: ToolCall,
  found: Machine,
  path: string,
  offset: number,
): Promise<ToolResult> {
  const { bytes, isWhole } = await readChunk(await found.files.stream(path, { offset, signal }))
  if (offset === 0 && isImage(bytes)) {
    const whole = await found.files.read(path, { maxBytes: maxImageBytes, signal })
    const { content, original } = await renderImage(whole).catch((cause: unknown) => {
      const message = `${path} looks like an image but cannot be shown: it is corrupt or too large.`
      throw new ToolError(message, { cause })
    })
    return [content, { type: 'text', text: `${path}: ${original.width}x${original.height} pixels` }]
  }
  const length = isWhole ? bytes.length : endOfText(bytes)
  const text = decode(bytes.subarray(0, length))
  if (text === null) {
    throw new ToolError(
      `${path} is binary. Inspect it with run_command: "file" shows its type, and "unzip -l", ` +
        '"tar -tf", "pdftotext", "strings" and "xxd" show its content.',
    )
  }
  const next = isWhole ? '' : `There is more; continue with offset ${offset + length}.`
  if (text === '') return 'The file is empty.'
  return [{ type: 'text', text }, ...(next ? [{ type: 'text' as const, text: next }] : [])]
}

async function readChunk(stream: ReadableStream<Uint8Array>) {
  const chunks: Uint8Array[] = []
  let length = 0
  // Leaving the loop cancels the stream.
  for await (const chunk of stream) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxTextBytes) break
  }
  const bytes = Buffer.concat(chunks).subarray(0, maxTextBytes)
  return { bytes, isWhole: length <= maxTextBytes }
}

/** The end of the last complete UTF-8 character. */
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

/** Detects the type by magic bytes, not by the file name. */
function isImage(bytes: Buffer): boolean {
  const magic = bytes.toString('latin1', 0, 12)
  return /^(\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|RIFF[^]{4}WEBP)/.test(magic)
}

function describeEntry({ name, type, size, mode, owner, target }: DirectoryEntry): string {
  const kind = type === 'file' ? formatBytes(size) : type
  return `${mode} ${owner} ${name}${type === 'directory' ? '/' : ''} (${kind})${target ? ` -> ${target}` : ''}`
}
