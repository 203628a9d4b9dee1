import { spawn } from 'node:child_process'
import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { AgentError, invalidRequest } from '../errors.ts'
import { mapFileErrors } from './errors.ts'
import { openPath, type FileSpace } from './space.ts'
import { isKernelFile, notFound, fdPath, type Entry } from './walk.ts'

export type ReadRequest = {
  readonly path: string
  readonly offset: number
  /** Defaults to the rest of the file. */
  readonly length?: number | undefined
}

type OpenedRange = {
  readonly path: string
  readonly size: number
  readonly offset: number
  readonly length: number
  /** For the caller to close. Undefined if `bytes` is set. */
  readonly fd?: number
  readonly bytes?: Buffer
}

/** Opens a range of a regular file. Files in /proc and /sys report no size and are read whole. */
export async function openRange(space: FileSpace, request: ReadRequest): Promise<OpenedRange> {
  return mapFileErrors(request.path, async () => {
    using opened = openPath(space, request.path)
    const { entry, path } = opened
    if (!entry) throw notFound(path)
    const file = await openFile(entry)
    const { offset, length, size } = clampRange(file.size, request)
    const range = { path, offset, length, size }
    if (file.bytes === undefined) return { ...range, fd: file.fd }
    return { ...range, bytes: file.bytes.subarray(offset, offset + length) }
  })
}

/** For the caller to close, unless its content is in memory: that of a file of the kernel. */
export type OpenFile =
  | { readonly size: number; readonly fd: number; readonly bytes?: undefined }
  | { readonly size: number; readonly bytes: Buffer; readonly fd?: undefined }

export async function openFile(entry: Entry): Promise<OpenFile> {
  const fd = openRegular(entry, constants.O_RDONLY)
  let isKept = false
  try {
    if (isKernelFile(entry)) {
      const bytes = await readKernelFile(fd, entry.path)
      return { size: bytes.length, bytes }
    }
    const file = { size: Number(fstatSync(fd).size), fd }
    isKept = true
    return file
  } finally {
    if (!isKept) closeSync(fd)
  }
}

/** Opens exactly the file that was walked to. Refuses everything that is not a regular file. */
export function openRegular(entry: Entry, flags: number): number {
  if (entry.stats.isDirectory()) throw invalidRequest(`${entry.path} is a directory`)
  if (!entry.stats.isFile()) throw invalidRequest(`${entry.path} is not a regular file`)
  // Without O_NONBLOCK a program that holds a lease on the file could block the agent for 45 s.
  return openSync(fdPath(entry), flags | constants.O_NONBLOCK)
}

function clampRange(size: number, { offset, length = Infinity }: ReadRequest) {
  const start = Math.min(offset, size)
  return { size, offset: start, length: Math.min(length, size - start) }
}

const maxKernelFileBytes = 4 * 1024 * 1024
const kernelReadTimeoutMs = 800

/**
 * Reading such a file runs kernel code that may block or never end. A separate process does it,
 * which can be abandoned.
 */
async function readKernelFile(fd: number, path: string): Promise<Buffer> {
  const child = spawn('head', ['-c', String(maxKernelFileBytes)], {
    stdio: [fd, 'pipe', 'ignore'],
  })
  const chunks: Buffer[] = []
  child.stdout!.on('data', (chunk: Buffer) => chunks.push(chunk))
  const code = await new Promise<number | null>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      child.stdout!.destroy()
      child.unref()
      resolve(null)
    }, kernelReadTimeoutMs)
    child.once('error', reject).once('close', resolve)
    child.once('close', () => clearTimeout(timer))
  })
  if (code === 0 || chunks.length > 0) return Buffer.concat(chunks)
  throw new AgentError('precondition_failed', `${path} cannot be read now; run cat in the machine`)
}
