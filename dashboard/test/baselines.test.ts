import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pixelmatch from 'pixelmatch'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { closeBrowser, openPage, startDashboard, type PageOptions } from './harness.ts'
import { settle } from './pages.ts'
import { addSampleData } from './sample.ts'
import { driver, picture } from './screen-pages.ts'
import { makeSteady } from './steady.ts'

/*
 * Fifteen pages, in both themes and on a phone, have to look like the pictures in baselines/.
 * COMPUTER_UPDATE_BASELINES=1 draws them again; look at them before you commit them.
 */

after(closeBrowser)

const baselines = fileURLToPath(new URL('baselines/', import.meta.url))
/** The part of a page's pixels that may differ. */
const greatestDifference = 0.001

const looks: readonly (PageOptions & { readonly look: string })[] = [
  { look: 'light' },
  { look: 'dark', theme: 'dark' },
  { look: 'phone', phone: true },
]

for (const { look, ...options } of looks) {
  test(`fifteen pages look as they did, ${look}`, async (t) => {
    const dashboard = await startDashboard(t)
    const { research, help } = await addSampleData(dashboard.owner)
    const takeover = new URL(help.takeover_url)
    const page = await openPage(t, dashboard, '/favicon.svg', options)
    await makeSteady(page)
    const signedOut = await openPage(t, dashboard, '/favicon.svg', { ...options, as: null })
    await makeSteady(signedOut)
    const differing: string[] = []
    for (const { name, path, shows } of pagesOf(research.id, takeover.pathname + takeover.hash)) {
      const shown = name === 'login' || name === 'guest' ? signedOut : page
      await shown.goto(dashboard.url + path)
      await settle(shown, shows)
      await waitForPictures(shown, name)
      const taken = await shown.screenshot({ caret: 'hide', animations: 'disabled' })
      const fault = await compare(`${name}-${look}`, taken)
      if (fault) differing.push(fault)
    }
    assert.deepEqual(differing, [])
  })
}

function pagesOf(machineId: string, takeoverPath: string) {
  const machine = `/m/${machineId}`
  return [
    { name: 'machines', path: '/', shows: 'research-agent' },
    { name: 'machines-list', path: '/?view=list', shows: 'research-agent' },
    { name: 'create', path: '/?create=true', shows: 'Start it' },
    { name: 'screen', path: machine, shows: 'Take over' },
    { name: 'files', path: `${machine}/files`, shows: 'Upload' },
    { name: 'snapshots', path: `${machine}/snapshots`, shows: 'signed in to the shop' },
    { name: 'members', path: '/members', shows: 'grace@example.com' },
    { name: 'keys', path: '/keys', shows: 'laptop' },
    { name: 'webhooks', path: '/webhooks', shows: 'alerts.example.com' },
    { name: 'usage', path: '/usage?window=day', shows: 'invoice-bot' },
    { name: 'billing', path: '/billing', shows: 'Running machines' },
    { name: 'audit', path: '/audit', shows: 'Audit log' },
    { name: 'help', path: '/help-requests', shows: 'Please sign in to the shop' },
    { name: 'login', path: '/login', shows: 'Sign in' },
    { name: 'guest', path: takeoverPath, shows: 'Please sign in to the shop' },
  ] as const
}

async function waitForPictures(page: Page, name: string): Promise<void> {
  if (name === 'screen') {
    await picture(page, 'live').waitFor()
    await driver(page, 'nobody').waitFor()
  }
  if (name === 'usage') await page.locator('canvas').waitFor()
  if (name === 'help') await page.locator('#content li img').first().waitFor()
  // Each machine that runs has its picture where it can be seen; behind a dialog as well.
  if (name === 'machines' || name === 'create') {
    await page.locator('#content li img').first().waitFor({ state: 'attached' })
    await page.waitForFunction(() =>
      [...document.querySelectorAll('#content li')].every(
        (card) =>
          card.getBoundingClientRect().top >= innerHeight ||
          !card.textContent.includes('Starting its desktop'),
      ),
    )
  }
  await page.waitForFunction(() => [...document.images].every(({ complete }) => complete))
}

/** Compares a page with its baseline. Returns what differs, with the files that show it. */
async function compare(name: string, taken: Buffer): Promise<string | undefined> {
  const path = join(baselines, `${name}.png`)
  if (process.env['COMPUTER_UPDATE_BASELINES']) {
    await mkdir(baselines, { recursive: true })
    await writeFile(path, await sharp(taken).png({ compressionLevel: 9, effort: 10 }).toBuffer())
    return undefined
  }
  const [was, is] = await Promise.all([decode(await readFile(path)), decode(taken)])
  const { width, height } = is.info
  if (was.info.width !== width || was.info.height !== height) return `${name}: another size`
  const difference = Buffer.alloc(is.data.length)
  const pixels = pixelmatch(was.data, is.data, difference, width, height, { threshold: 0.1 })
  if (pixels <= greatestDifference * width * height) return undefined
  const folder = join(tmpdir(), 'computer-baselines')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${name}.png`), taken)
  const raw = { width, height, channels: 4 } as const
  await sharp(difference, { raw })
    .png()
    .toFile(join(folder, `${name}-difference.png`))
  return `${name}: ${pixels} pixels differ; see ${folder}`
}

function decode(png: Buffer) {
  return sharp(png).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
}
