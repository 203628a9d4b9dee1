import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../replace-file.ts'
import { lxcfsMountPoint } from './engine-lxcfs.ts'

const distributed = '/usr/share/lxc/config'
const startScriptName = 'machine-start.sh'
const startScript = new URL(startScriptName, import.meta.url)

/** Files and folders that each machine sees through lxcfs, where its version and the host have them. */
const lxcfsEntries = [
  'proc/cpuinfo',
  'proc/diskstats',
  'proc/loadavg',
  'proc/meminfo',
  'proc/pressure',
  'proc/slabinfo',
  'proc/stat',
  'proc/swaps',
  'proc/uptime',
  'sys/devices/system/cpu',
]

/**
 * Copies the distribution's LXC configuration without lxcfs's two hooks. The one at a stop sleeps half a
 * second to support reboots under a liblxc older than any we run on. The one at a start mounts with twenty
 * programs what LXC mounts by itself. Adds our own script for the start of machines. The log level is the
 * lowest that shows how a machine's init ended, which the engine itself does not record.
 */
export async function writeLxcTemplate(directory: string): Promise<void> {
  await copyTemplates(distributed, directory, directory)
  const added = join(directory, 'common.conf.d')
  await updateFile(join(added, '90-log.conf'), 'lxc.log.level = DEBUG\n')
  const script = await writeStartScript(directory)
  const mounts = lxcfsEntries.map(
    (path) => `lxc.mount.entry = ${lxcfsMountPoint}/${path} ${path} none bind,optional 0 0\n`,
  )
  await updateFile(join(added, '92-lxcfs.conf'), mounts.join(''))
  const hooks = ['pre-start', 'start-host'].map((moment) => `lxc.hook.${moment} = ${script}\n`)
  await updateFile(join(added, '91-start.conf'), hooks.join(''))
}

/** Where the script is for the machines of an engine that others run, whose templates are theirs. */
export function startScriptPath(dataDir: string): string {
  return join(dataDir, 'lxc', startScriptName)
}

/** Resolves to the path of the script in the folder. */
export async function writeStartScript(directory: string): Promise<string> {
  const path = join(directory, startScriptName)
  await mkdir(directory, { recursive: true })
  await updateFile(path, await readFile(startScript, 'utf8'), 0o755)
  return path
}

async function copyTemplates(from: string, to: string, root: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name)
    const target = join(to, entry.name)
    if (entry.isDirectory()) await copyTemplates(source, target, root)
    else await updateFile(target, rewriteTemplate(await readFile(source, 'utf8'), root))
  }
}

function rewriteTemplate(text: string, root: string): string {
  return text
    .split('\n')
    .filter((line) => !/^\s*lxc\.hook\.(mount|post-stop)\b.*lxcfs/.test(line))
    .map((line) => line.replace(`${distributed}/common.conf.d`, `${root}/common.conf.d`))
    .join('\n')
}

/** The daemon may read the file at any moment, so it is replaced whole, and only when it differs. */
async function updateFile(path: string, text: string, mode = 0o644): Promise<void> {
  const current = await readFile(path, 'utf8').catch(() => undefined)
  if (current !== text) await replaceFile(path, text, { isDurable: false, mode })
}
