import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../replace-file.ts'

const distributed = '/usr/share/lxc/config'

/**
 * Copies the distribution's LXC configuration without lxcfs's post-stop hook, which sleeps half a second
 * in every stop to support reboots under a liblxc older than any we run on. The log level is the lowest
 * that shows how a machine's init ended, which the engine itself does not record.
 */
export async function writeLxcTemplate(directory: string): Promise<void> {
  await copyTemplates(distributed, directory, directory)
  await updateFile(join(directory, 'common.conf.d', '90-log.conf'), 'lxc.log.level = DEBUG\n')
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
    .filter((line) => !/^\s*lxc\.hook\.post-stop\b.*lxcfs/.test(line))
    .map((line) => line.replace(`${distributed}/common.conf.d`, `${root}/common.conf.d`))
    .join('\n')
}

/** The daemon may read the file at any moment, so it is replaced whole, and only when it differs. */
async function updateFile(path: string, text: string): Promise<void> {
  const current = await readFile(path, 'utf8').catch(() => undefined)
  if (current !== text) await replaceFile(path, text, { isDurable: false, mode: 0o644 })
}
