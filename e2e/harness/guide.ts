import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Lifetime } from '../../server/test/harness.ts'
import { findHostNode } from '../../server/test/nodes.ts'

const repoDir = fileURLToPath(new URL('../../', import.meta.url))

/**
 * A page as what its reader does, in order, from the heading on: the commands of its bash blocks, and for a
 * JavaScript block whose first line is a comment with the name of a file, the making of that file.
 */
export async function readGuide(
  path: string,
  { from, to }: { readonly from?: string; readonly to?: string } = {},
): Promise<string[]> {
  const text = await readFile(join(repoDir, path), 'utf8')
  const start = from === undefined ? 0 : text.indexOf(`\n${from}\n`)
  const end = to === undefined ? text.length : text.indexOf(`\n${to}\n`)
  if (start < 0 || end < 0) throw new Error(`${path} has no ${from} or ${to}`)
  const blocks = text.slice(start, end).matchAll(/^```(bash|js)\n([\s\S]*?)^```$/gm)
  return [...blocks].flatMap(([, language, block]) => {
    if (language === 'bash') return [block!]
    const name = /^\/\/ (\S+)\n/.exec(block!)?.[1]
    return name === undefined ? [] : [`cat >${name} <<'END OF FILE'\n${block}END OF FILE\n`]
  })
}

/** A person at a terminal in a folder of their own, who has this Node and the set-up's `computer`. */
export async function openTerminal(
  t: Lifetime,
  nodeDir: string,
  env: Readonly<Record<string, string>>,
) {
  const home = await mkdtemp(join(tmpdir(), 'computer-guide-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  await mkdir(join(home, 'bin'))
  await symlink(join(repoDir, 'cli/bin/computer'), join(home, 'bin/computer'))
  // npm comes with the host's Node.
  const PATH = `${home}/bin:${nodeDir}:${(await findHostNode()) ?? nodeDir}:/usr/sbin:/usr/bin:/sbin:/bin`
  return {
    home,
    path: PATH,
    /** Pastes blocks into one shell, which ends at the first command that fails. Resolves to its output. */
    async paste(blocks: readonly string[]): Promise<string> {
      // A terminal has nothing for a command to read.
      const script = ['exec </dev/null', ...blocks].join('\n')
      const { stdout } = await promisify(execFile)(
        'bash',
        ['--norc', '-euo', 'pipefail', '-c', script],
        {
          cwd: home,
          timeout: 240_000,
          maxBuffer: 64 * 1024 * 1024,
          env: { PATH, HOME: home, TERM: 'xterm', LANG: 'C.UTF-8', ...env },
        },
      )
      return stdout
    },
  }
}
