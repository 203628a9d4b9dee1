import packed from '@sparticuz/chromium'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium, type Browser } from 'playwright-core'

/** Starts a headless Chromium on this host, unpacked for this caller alone. */
export async function launchChromium(more: readonly string[] = []): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'computer-chromium-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const executablePath = await wrap(folder, await unpackInto(folder))
    // Chromium has no sandbox as root; all pages that it loads are ours.
    const args = ['--no-sandbox', '--hide-scrollbars', ...more]
    const browser = await chromium.launch({ executablePath, args })
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

/** The package unpacks to the temporary folder, where it would accept an incomplete earlier copy. */
async function unpackInto(folder: string): Promise<string> {
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  try {
    return await packed.executablePath()
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
}
