import { spawn } from 'node:child_process'
import { closeSync, constants, fstatSync, openSync } from 'node:fs'
import { invalid, Refusal } from '../refusal.ts'
import { naming } from './failure.ts'
import { walkIn, type FileSpace } from './space.ts'
import { isOfKernel, notFound, reopenable, type Entry } from './walk.ts'

export type ReadRequest = {
  readonly path: string
  readonly offset: number
  /** Omitted: to the end of the file. */
  readonly length?: number | undefined
}

export type OpenedRange = {
  readonly path: string
  readonly size: number
  readonly offset: number
  readonly length: number
  /** The caller closes it. Undefined when `bytes` are the content. */
  readonly fd?: number
  readonly bytes?: Buffer
}

/** Opens a range of a regular file. What is in /proc and /sys has no true size and is read whole. */
export async function openRange(space: FileSpace, request: ReadRequest): Promise<OpenedRange> {
  return naming(request.path, async () => {
    using place = walkIn(space, request.path)
    const { entry, path } = place
    if (!entry) throw notFound(path)
    const fd = openRegular(entry, constants.O_RDONLY)
    try {
      if (!isOfKernel(entry)) {
        return { path, fd, ...cutTo(Number(fstatSync(fd).size), request) }
      }
      const whole = await readKernelFile(fd, path)
      closeSync(fd)
      const range = cutTo(whole.length, request)
      return { path, ...range, bytes: whole.subarray(range.offset, range.offset + range.length) }
    } catch (error) {
      closeSync(fd)
      throw error
    }
  })
}

/** Opens the very file that was walked to, and refuses what could hang or is not a file. */
export function openRegular(entry: Entry, flags: number): number {
  if (entry.stats.isDirectory()) throw invalid(`${entry.path} is a directory`)
  if (!entry.stats.isFile()) throw invalid(`${entry.path} is not a regular file`)
  // Or a program that holds a lease on the file would keep everybody waiting for 45 seconds.
  return openSync(reopenable(entry), flags | constants.O_NONBLOCK)
}

function cutTo(size: number, { offset, length = Infinity }: ReadRequest) {
  const start = Math.min(offset, size)
  return { size, offset: start, length: Math.min(length, size - start) }
}

const maxKernelFileBytes = 4 * 1024 * 1024
const kernelReadMs = 800

/**
 * Such a read runs code of the kernel that may wait for an event, or never end. So a process of its own
 * does it, which can be left to itself.
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
    }, kernelReadMs)
    child.once('error', reject).once('close', resolve)
    child.once('close', () => clearTimeout(timer))
  })
  if (code === 0 || chunks.length > 0) return Buffer.concat(chunks)
  throw new Refusal('precondition_failed', `the kernel gives nothing to read in ${path} now`)
}
