import { execFile } from 'node:child_process'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { promisify } from 'node:util'
import { invalid } from './refusal.ts'

/** Gives the machine its host name, now and for the next boot. Cheap when it has it already. */
export async function takeIdentity(etcPath: string, name: string): Promise<void> {
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name)) {
    throw invalid('a hostname has lower-case letters, digits and inner hyphens only')
  }
  await replaceIfOther(`${etcPath}/hostname`, () => `${name}\n`)
  await replaceIfOther(`${etcPath}/hosts`, (hosts) => withOwnName(hosts, name))
  if (hostname() !== name) await run('/usr/bin/hostname', [name])
}

const run = promisify(execFile)

/** The hosts file with the one line, by Debian's custom for 127.0.1.1, that resolves our own name. */
function withOwnName(hosts: string, name: string): string {
  const own = `127.0.1.1\t${name}`
  const others = hosts.split('\n').filter((line) => !/^127\.0\.1\.1\s/.test(line))
  if (others.every((line) => line.trim() === ''))
    others.splice(0, Infinity, '127.0.0.1\tlocalhost', '')
  return [others[0], own, ...others.slice(1)].join('\n')
}

async function replaceIfOther(path: string, change: (before: string) => string): Promise<void> {
  const before = await readFile(path, 'utf8').catch(() => '')
  const after = change(before)
  if (after === before) return
  await writeFile(`${path}.partial`, after, { mode: 0o644 })
  await rename(`${path}.partial`, path)
}
