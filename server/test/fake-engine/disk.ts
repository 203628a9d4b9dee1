import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  type BigIntStats,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { spawnInRoot } from './machine/namespace.ts'

const home = '/home/agent'
const agentId = 1000

/**
 * The disk of a fake machine: a folder on the host. Its machine finds it as its root, with the host's
 * programs in /usr, which it can only read.
 */
export class FakeDisk {
  readonly rootPath: string
  /** The inodes of the files it began with, and their change times. */
  readonly #base: ReadonlyMap<bigint, bigint>
  #exists = true

  /** Filled from another disk, or from the `archive` of one. */
  constructor(source?: FakeDisk | Buffer) {
    this.rootPath = join(disksFolder(), randomBytes(6).toString('hex'))
    if (Buffer.isBuffer(source)) {
      mkdirSync(this.rootPath)
      execFileSync('tar', ['-x', '-C', this.rootPath], { input: source })
    } else if (source) execFileSync('cp', ['-a', source.rootPath, this.rootPath])
    else fill(this.rootPath)
    this.#base = new Map(filesIn(this.rootPath).map(({ ino, ctimeNs }) => [ino, ctimeNs]))
  }

  get exists(): boolean {
    return this.#exists
  }

  /** The size of the files that were written since the disk was made and are still on it. */
  writtenBytes(): number {
    const written = filesIn(this.rootPath).filter(
      ({ ino, ctimeNs }) => this.#base.get(ino) !== ctimeNs,
    )
    return written.reduce((sum, { size }) => sum + Number(size), 0)
  }

  /** The size of its files beyond those of the image. */
  contentBytes(): number {
    const image = Object.values(files).reduce((sum, text) => sum + Buffer.byteLength(text), 0)
    const all = filesIn(this.rootPath).reduce((sum, { size }) => sum + Number(size), 0)
    return Math.max(0, all - image)
  }

  archive(): Buffer {
    return execFileSync('tar', ['-c', '-C', this.rootPath, '.'], { maxBuffer: 2 ** 30 })
  }

  /** Writes as root. Relative paths start at the agent user's home, as for `read` and `remove`. */
  write(path: string, bytes: Buffer | string, { append = false, mode = 0o644 } = {}): void {
    const place = this.#at(path)
    mkdirSync(dirname(place), { recursive: true })
    writeFileSync(place, bytes, { flag: append ? 'a' : 'w', mode })
  }

  /** Null where there is no such file. */
  read(path: string): Buffer | null {
    const isThere = lstatSync(this.#at(path), { throwIfNoEntry: false })
    return isThere ? readFileSync(this.#at(path)) : null
  }

  remove(path: string): void {
    rmSync(this.#at(path), { force: true })
  }

  /** Runs a shell script as root, with or without an agent on the disk, and returns its output. */
  async run(script: string): Promise<string> {
    const shell = ['/bin/sh', '-c', script]
    const child = spawnInRoot(this.rootPath, shell, { stdio: ['ignore', 'pipe', 'inherit'] })
    return (await buffer(child.stdout!)).toString()
  }

  /** No process may still use the disk. */
  async delete(): Promise<void> {
    this.#exists = false
    await rm(this.rootPath, { recursive: true, force: true })
  }

  #at(path: string): string {
    return join(this.rootPath, resolve(home, path))
  }
}

/** The disks of this process, removed with it. */
let folder: string | undefined
function disksFolder(): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'computer-fake-'))
    process.once('exit', () => rmSync(made, { recursive: true, force: true }))
    folder = made
  }
  return folder
}

function fill(rootPath: string): void {
  for (const path of directories) mkdirSync(join(rootPath, path), { recursive: true })
  for (const path of ['tmp', 'var/tmp']) chmodSync(join(rootPath, path), 0o1777)
  for (const name of ['', 'Desktop', 'Documents', 'Downloads']) {
    chownSync(join(rootPath, home, name), agentId, agentId)
  }
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    symlinkSync(readlinkSync(`/${name}`), join(rootPath, name))
  }
  for (const [path, text] of Object.entries(files)) writeFileSync(join(rootPath, path), text)
}

const directories = [
  ...'dev etc opt/computer proc root run tmp usr var/lib var/tmp'.split(' '),
  ...['Desktop', 'Documents', 'Downloads'].map((name) => join(home, name)),
]
const files = {
  'etc/passwd':
    'root:x:0:0:root:/root:/bin/bash\n' +
    `agent:x:${agentId}:${agentId}:Agent:${home}:/bin/bash\n` +
    'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
  'etc/group': `root:x:0:\ntty:x:5:\nagent:x:${agentId}:\nnogroup:x:65534:\n`,
  'etc/hosts': '127.0.0.1\tlocalhost\n',
} as const

function filesIn(path: string): BigIntStats[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => lstatSync(join(entry.parentPath, entry.name), { bigint: true }))
}
