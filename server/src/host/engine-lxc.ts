import { access, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const distributed = '/usr/share/lxc/config'

/**
 * A copy of the distribution's LXC configuration without lxcfs's post-stop hook, which sleeps half a
 * second in every stop for the sake of reboots under a liblxc older than any we run on. The log level
 * is the lowest that tells how a machine's init ended, which the engine itself does not.
 */
export async function writeLxcTemplate(directory: string): Promise<void> {
  await copyTemplates(distributed, directory, directory)
  await writeWhole(join(directory, 'common.conf.d', '90-log.conf'), 'lxc.log.level = DEBUG\n')
}

async function copyTemplates(from: string, to: string, root: string): Promise<void> {
  await mkdir(to, { recursive: true })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name)
    const target = join(to, entry.name)
    if (entry.isDirectory()) await copyTemplates(source, target, root)
    else await writeWhole(target, rewriteTemplate(await readFile(source, 'utf8'), root))
  }
}

function rewriteTemplate(text: string, root: string): string {
  return text
    .split('\n')
    .filter((line) => !/^\s*lxc\.hook\.post-stop\b.*lxcfs/.test(line))
    .map((line) => line.replace(`${distributed}/common.conf.d`, `${root}/common.conf.d`))
    .join('\n')
}

/** The daemon may read it at any moment: it sees the old file or the new one. */
async function writeWhole(path: string, text: string): Promise<void> {
  const unchanged = await access(path).then(
    async () => (await readFile(path, 'utf8')) === text,
    () => false,
  )
  if (unchanged) return
  await writeFile(`${path}.new`, text)
  await rename(`${path}.new`, path)
}
