import packed from '@sparticuz/chromium'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Browser } from 'playwright-core'

/** Starts a headless Chromium on this host, unpacked for this caller alone. */
export async function launchChromium(more: readonly string[] = []): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'computer-chromium-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const executablePath = await unpackInto(folder)
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
