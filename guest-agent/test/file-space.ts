import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { DenyList } from '../src/files/deny.ts'
import type { FileSpace } from '../src/files/space.ts'
import type { Body } from '../src/files/write.ts'
import { Users } from '../src/system/users.ts'

export type TestSpace = {
  readonly space: FileSpace
  readonly home: string
  /** A tree that the file routes refuse. Each is in a folder of its own. */
  readonly denied: string
}

/** Removed after a test, or after a whole file: `{ after }`. */
export function makeSpace(t: { after(clean: () => void): void }): TestSpace {
  const folder = mkdtempSync(join(tmpdir(), 'guest-files-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [home, denied] = [join(folder, 'home/agent'), join(folder, 'run/denied')]
  mkdirSync(home, { recursive: true })
  mkdirSync(denied, { recursive: true })
  const users = new Users('/etc')
  const owner = { ...users.find('nobody')!, home }
  return { space: { users, owner, deny: new DenyList([denied]) }, home, denied }
}

export function bodyOf(content: string | Buffer): Body {
  return { stream: Readable.from([Buffer.from(content)]), isComplete: () => true }
}

/** Dispose of it before the folder is removed. */
export function mount(args: readonly string[], directory: string): Disposable {
  execFileSync('mount', [...args, directory])
  return { [Symbol.dispose]: () => execFileSync('umount', [directory]) }
}
