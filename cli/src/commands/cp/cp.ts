import { ApiError, type Machine } from '@computer/sdk'
import { stat } from 'node:fs/promises'
import { posix } from 'node:path'
import { connect, findMachine } from '../../client.ts'
import { clientCommand, examples } from '../../command.ts'
import { Exit } from '../../errors.ts'
import { writeJson } from '../../output.ts'
import { openBar } from '../../progress.ts'
import { printable } from '../../text.ts'
import { downloadFile, downloadStream, downloadTree, localTarget } from './download.ts'
import { readTree } from './local-tree.ts'
import { findEntry, kindOf, type Transfer } from './remote.ts'
import { parseCopy, type CopyTarget } from './target.ts'
import { nameOf, remoteTarget, uploadFile, uploadStream, uploadTree } from './upload.ts'

type Copied = {
  readonly files: number
  readonly bytes: number
  readonly skipped: readonly string[]
}
type Copy = {
  readonly machine: Machine
  readonly signal: AbortSignal
  readonly recursive: boolean
}

export const cp = clientCommand('cp')
  .description('Copy files to or from a machine.')
  .argument('<from>', 'FILE, MACHINE:PATH, or - for standard input')
  .argument('<to>', 'FILE, MACHINE:PATH, or - for standard output')
  .option('-r, --recursive', 'copy a folder and its contents')
  .addHelpText(
    'after',
    `
A relative path in a machine starts at the home folder of the user agent. If the
destination is an existing folder, sources are copied into it. Permissions and symbolic
links are kept. Files are replaced atomically: readers never see a partial file.
${examples(
  'computer cp notes.txt first:',
  'computer cp -r first:/var/log ./logs',
  'pg_dump shop | computer cp - first:shop.sql',
)}`,
  )
  .action(async (from, to, options) => {
    const { source, target } = parseCopy(from, to)
    await using computer = await connect(options)
    const remote = [source, target].find((side) => side.type === 'machine')!
    const machine = await findMachine(computer, remote.machine)
    const interrupted = new AbortController()
    const interrupt = () => interrupted.abort(new Exit(130))
    process.once('SIGINT', interrupt)
    process.once('SIGTERM', interrupt)
    const { signal } = interrupted
    const copy = { machine, signal, recursive: options.recursive === true }
    const copied =
      source.type === 'machine'
        ? await download(copy, source.path, target)
        : await upload(copy, source, (target as typeof remote).path)
    // An open standard input would keep the process alive.
    process.stdin.destroy()
    for (const path of copied.skipped)
      console.error(
        `skipped ${printable(path)}: not a regular file, not readable, or its name is not UTF-8`,
      )
    if (copied.skipped.length > 0) process.exitCode = 1
    if (options.json && target.type !== 'stream') writeJson(copied)
  })

async function upload(copy: Copy, source: CopyTarget, path: string): Promise<Copied> {
  const { machine } = copy
  if (source.type !== 'local') {
    if ((await kindOf(machine, path)) === 'directory')
      throw new ApiError('invalid_request', `${path} is a folder; pass a file path`)
    return transfer(copy, path, null, (one) => uploadStream(one, path))
  }
  const stats = await stat(source.path)
  const isDirectory = stats.isDirectory()
  if (isDirectory && !copy.recursive) throw needsRecursive(source.path)
  const to = await remoteTarget(machine, path, nameOf(source.path))
  if (!isDirectory) {
    const { size, mode } = stats
    const file = { path: source.path, mode }
    return transfer(copy, nameOf(source.path), size, (one) => uploadFile(one, file, to))
  }
  const tree = await readTree(source.path)
  const total = tree.files.reduce((sum, { size }) => sum + size, 0)
  return transfer(copy, nameOf(source.path), total, async (one) => {
    await uploadTree(one, tree, to)
    return { files: tree.files.length, skipped: tree.skipped }
  })
}

async function download(copy: Copy, path: string, target: CopyTarget): Promise<Copied> {
  const { machine } = copy
  const kind = await kindOf(machine, path)
  if (kind === 'none') throw new ApiError('not_found', `${path} not found in ${machine.name}`)
  if (kind === 'directory' && (!copy.recursive || target.type !== 'local'))
    throw needsRecursive(path)
  const name = posix.basename(posix.resolve('/', path)) || machine.name
  const to = target.type === 'local' ? await localTarget(target.path, name) : '-'
  if (kind === 'directory') {
    return transfer(copy, name, null, (one) => downloadTree(one, path, to))
  }
  const entry = await findEntry(machine, path)
  const mode = Number.parseInt(entry?.mode ?? '0644', 8)
  return transfer(copy, name, entry?.size ?? null, (one) =>
    target.type === 'stream' ? downloadStream(one, path) : downloadFile(one, { path, mode }, to),
  )
}

async function transfer(
  { machine, signal }: Copy,
  label: string,
  total: number | null,
  work: (transfer: Transfer) => Promise<Omit<Copied, 'bytes'> | void>,
): Promise<Copied> {
  let bytes = 0
  using shown = openBar(printable(label), total)
  const bar = {
    add: (count: number) => {
      bytes += count
      shown.add(count)
    },
  }
  try {
    const { files, skipped } = (await work({ machine, signal, bar })) ?? { files: 1, skipped: [] }
    return { files, bytes, skipped }
  } catch (error) {
    // After an interrupt, any error is a consequence of it.
    throw signal.aborted ? signal.reason : error
  }
}

function needsRecursive(path: string): ApiError {
  return new ApiError('invalid_request', `${path} is a folder; copy it with -r to another folder`)
}
