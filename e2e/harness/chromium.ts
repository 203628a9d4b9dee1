import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { chromium, type Browser } from 'playwright-core'

/** Starts a headless Chromium on this host. */
export async function launchChromium(more: readonly string[] = []): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'computer-chromium-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const executablePath = await wrap(folder, await ensureUnpacked())
    // Chromium has no sandbox as root; all pages that it loads are ours.
    const args = ['--no-sandbox', '--hide-scrollbars', ...more]
    // A handler of SIGTERM would keep this process alive when the runner of tests ends its file.
    const browser = await chromium.launch({ executablePath, args, handleSIGTERM: false })
    browser.once('disconnected', () => void remove())
    return browser
  } catch (error) {
    await remove()
    throw error
  }
}

/** An init script for a browser whose video decoder never answers, as Chromium's on some phones. */
export const silentDecoder = `
  // Pages without a secure origin, such as about:blank, have none.
  if (globalThis.VideoDecoder) {
    VideoDecoder.isConfigSupported = async () => ({ supported: true })
    VideoDecoder.prototype.configure = () => {}
    VideoDecoder.prototype.decode = () => {}
    VideoDecoder.prototype.flush = () => new Promise(() => {})
  }
`

const withoutNetlink = fileURLToPath(new URL('without-netlink.pl', import.meta.url))

/**
 * Chromium gives up requests that are waiting when an address of the host changes, which it learns over
 * netlink, and engines of other tests come and go.
 */
async function wrap(folder: string, executable: string): Promise<string> {
  const path = join(folder, 'chromium-without-netlink')
  const script = `#!/bin/sh\nexec perl '${withoutNetlink}' '${executable}' "$@"\n`
  await writeFile(path, script, { mode: 0o755 })
  return path
}

const cacheDir = fileURLToPath(new URL('../../.cache/', import.meta.url))

/**
 * The program of the installed version. All files of a run share one copy, because it takes a core three
 * seconds to unpack. It gets its name when it is complete.
 */
async function ensureUnpacked(): Promise<string> {
  const description = new URL('../../package.json', import.meta.resolve('@sparticuz/chromium'))
  const { version } = JSON.parse(await readFile(description, 'utf8')) as { version: string }
  const kept = join(cacheDir, `chromium-${version}`)
  if (!existsSync(kept)) {
    await mkdir(cacheDir, { recursive: true })
    const unfinished = await mkdtemp(`${kept}-`)
    try {
      await unpackInto(unfinished)
      // Another process may have been faster.
      await rename(unfinished, kept).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOTEMPTY') throw error
      })
    } finally {
      await rm(unfinished, { recursive: true, force: true })
    }
  }
  return join(kept, 'chromium')
}

/**
 * The package unpacks to the temporary folder, where it would accept an incomplete earlier copy. A process of its own has
 * another one, while callers of this one go on to use theirs.
 */
async function unpackInto(folder: string): Promise<void> {
  const script = "import packed from '@sparticuz/chromium'; await packed.executablePath()"
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: import.meta.dirname,
    env: { ...process.env, TMPDIR: folder },
  })
}
