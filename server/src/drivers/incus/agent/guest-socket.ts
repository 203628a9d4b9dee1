import { closeSync, constants, openSync, readFileSync, readSync, watch } from 'node:fs'
import { open, readFile, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'

/*
 * The way from this host to the socket of a machine's agent, without the engine.
 *
 * Root of a machine rules over everything below its root directory while we walk there, and would like us to
 * connect to a socket of the host instead, or to hang. So
 *
 * - the process that is taken for the machine's init is pinned by a handle on its folder in /proc, and the
 *   kernel must say of that very process that it is pid 1 of its name space, in the machine's control group
 *   and with the ids of a machine;
 * - every part of the path is opened from the handle of the part before, and none may be a link;
 * - nothing is looked up in a file system that could ask a program of the guest (FUSE, or an overlay above
 *   it): only in the machine's own disk and in a tmpfs;
 * - the socket itself must be of the machine's root, and is connected to through its handle.
 *
 * Files of /proc are read at once, because the kernel answers by itself. Everything in the machine is asked in
 * another thread.
 */

/** Linux: the file is not opened for reading, only named. Node has no constant for it. */
const O_PATH = 0o10000000
const link = O_PATH | constants.O_NOFOLLOW
/** A guest may have a hundred thousand mounts. Those of its boot come first. */
const mostMountBytes = 256 * 1024
/** Then the walk begins again, because another file system may have been mounted above the directory. */
const entryPatienceMs = 10
/** The agent listens soon after it has made the folder of its socket. */
const socketPatienceMs = 50
const mostEvents = 200
const directoryMode = 0o040000
const socketMode = 0o140000
const typeMask = 0o170000

/** The init of a machine that runs. */
export type GuestInit = AsyncDisposable & {
  /** Its folder in /proc, which stays that of this process when another gets its number. */
  readonly folder: string
  /** The host's uid of the machine's root. */
  readonly rootUid: number
}

/** Something is not as it is in a machine that follows our image: the engine's way is used instead. */
export class NotDirect extends Error {
  override name = 'NotDirect'
}

/** The machine mounts file systems at this moment, or has more mounts than are read. */
export class MountUnknown extends Error {
  override name = 'MountUnknown'
}

/** Undefined if the control group has no init, where an image of ours has it. */
export async function findInit(group: string): Promise<GuestInit | undefined> {
  for (const place of [join(group, 'init.scope'), group]) {
    const ids = await readFile(join(place, 'cgroup.procs'), 'utf8').catch(() => '')
    for (const pid of ids.split('\n').slice(0, 8)) {
      const init = /^[1-9]\d*$/.test(pid) ? await pinInit(pid, group) : undefined
      if (init) return init
    }
  }
  return undefined
}

async function pinInit(pid: string, group: string): Promise<GuestInit | undefined> {
  let handle: FileHandle
  try {
    handle = await open(`/proc/${pid}`, constants.O_RDONLY | constants.O_DIRECTORY)
  } catch {
    return undefined
  }
  const folder = `/proc/self/fd/${handle.fd}`
  const dispose = () => handle.close()
  try {
    const [status, uids, groups] = await Promise.all(
      ['status', 'uid_map', 'cgroup'].map((name) => readFile(join(folder, name), 'utf8')),
    )
    const rootUid = Number(/^\s*0\s+(\d+)\s+65536\s*$/.exec(uids!)?.[1] ?? 0)
    const isInit = /^NSpid:\t\d+\t1$/m.test(status!) && isWithin(groups!, group)
    if (isInit && rootUid >= 65_536) return { folder, rootUid, [Symbol.asyncDispose]: dispose }
  } catch {
    // It has ended.
  }
  await dispose()
  return undefined
}

/** Whether that process still runs, or was not waited for yet. */
export function isAlive({ folder }: GuestInit): Promise<boolean> {
  return readFile(join(folder, 'stat')).then(
    () => true,
    () => false,
  )
}

/** The kernel names the groups from the top of each hierarchy, the host from where it is mounted. */
function isWithin(groups: string, group: string): boolean {
  const name = `/${group.split('/').at(-1)}`
  return groups.split('\n').some((line) => {
    const path = line.split(':').slice(2).join(':')
    return path === name || path.startsWith(`${name}/`)
  })
}

/**
 * Calls `use` with a path that leads to the socket and nowhere else while it runs. `path` is absolute and
 * within the machine. Throws ENOENT while the socket does not exist, MountUnknown or NotDirect when the way
 * to it cannot be trusted.
 */
export async function withGuestSocket<T>(
  init: GuestInit,
  path: string,
  use: (path: string) => Promise<T>,
): Promise<T> {
  const parts = path.split('/').slice(1)
  const mounts = readMounts(init)
  let at = await open(join(init.folder, 'root'), O_PATH | constants.O_DIRECTORY)
  try {
    requireLocal(at, mounts)
    for (const [index, part] of parts.entries()) {
      const isLast = index === parts.length - 1
      const next = await openSoon(at, part, isLast ? socketPatienceMs : entryPatienceMs)
      await at.close()
      at = next
      requireLocal(at, mounts)
      const { mode, uid } = await at.stat()
      if ((mode & typeMask) !== (isLast ? socketMode : directoryMode)) {
        throw new NotDirect(`${part} has the wrong type`)
      }
      if (isLast && uid !== init.rootUid)
        throw new NotDirect(`${part} is not of the machine's root`)
    }
    return await use(`/proc/self/fd/${at.fd}`)
  } finally {
    await at.close()
  }
}

/**
 * Opens an entry of a directory. If it does not exist, waits a moment for it before it fails: a machine that
 * boots makes it soon, and needs its processors for that more than we need them to walk there again and again.
 */
async function openSoon(
  directory: FileHandle,
  name: string,
  patienceMs: number,
): Promise<FileHandle> {
  const path = `/proc/self/fd/${directory.fd}`
  const openNow = () => open(`${path}/${name}`, link)
  try {
    return await openNow()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const { promise: made, resolve } = Promise.withResolvers<void>()
  let seen = 0
  // The watch is on the directory itself, whatever the machine puts in its place.
  const watcher = watch(path, { persistent: false }, (_, changed) => {
    if (changed === name) resolve()
    // The machine can make as many events as it likes.
    if ((seen += 1) === mostEvents) watcher.close()
  })
  watcher.on('error', () => resolve())
  const timer = setTimeout(resolve, patienceMs)
  try {
    // It may have been made before the watch began.
    return await openNow().catch(async () => {
      await made
      return openNow()
    })
  } finally {
    clearTimeout(timer)
    watcher.close()
  }
}

/** The kinds of file systems in the machine's mount name space, by the number of the mount. */
function readMounts({ folder }: GuestInit): ReadonlyMap<string, string> {
  const mounts = new Map<string, string>()
  for (const line of readStart(join(folder, 'mountinfo'), mostMountBytes).split('\n')) {
    const [, id, kind] = /^(\d+) .*? - (\S+) /.exec(line) ?? []
    if (id !== undefined && kind !== undefined) mounts.set(id, kind)
  }
  return mounts
}

function readStart(path: string, mostBytes: number): string {
  const fd = openSync(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(mostBytes)
    let length = 0
    for (let read = -1; read !== 0; length += read) {
      read = readSync(fd, buffer, length, mostBytes - length, null)
    }
    return buffer.toString('latin1', 0, length)
  } finally {
    closeSync(fd)
  }
}

/** No guest can mount one of these above a program of its own. */
const localKinds = new Set(['tmpfs', 'btrfs', 'zfs', 'ext4', 'xfs'])

/** Asks the kernel alone; a question to the file system could already hang. */
function requireLocal({ fd }: FileHandle, mounts: ReadonlyMap<string, string>): void {
  const info = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8')
  const kind = mounts.get(/^mnt_id:\s+(\d+)$/m.exec(info)?.[1] ?? '')
  if (kind === undefined) throw new MountUnknown('part of the path is in an unknown mount')
  if (!localKinds.has(kind)) {
    throw new NotDirect(`part of the path is in a file system of type ${kind}`)
  }
}
