import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { Lifetime } from '../../server/test/harness.ts'

/**
 * The browser writes every refused answer to its console; the pages show them. It also writes that a connection was
 * refused for a session that has just been closed (412), or for a screen that has just become private (409): the page
 * goes on with another.
 */
const refused = [
  /^Failed to load resource: the server responded with a status of/,
  /^WebSocket connection to .* failed: Error during WebSocket handshake: Unexpected response code: (409|412)$/,
]

/**
 * Fails the test if the page breaks its security policy, asks another host or logs an error. A test that fails leaves
 * a picture of the page and the last answers of the server with its logs.
 */
export function watchPage(t: Lifetime, page: Page, url: string, expected?: RegExp): void {
  const faults: string[] = []
  const answers: string[] = []
  page.on('response', (response) => {
    const { pathname, search } = new URL(response.url())
    const time = new Date().toISOString()
    answers.push(`${time} ${response.request().method()} ${pathname}${search} ${response.status()}`)
  })
  const note = (fault: string) => {
    if (!expected?.test(fault)) faults.push(fault)
  }
  page.on('console', (message) => {
    if (refused.some((pattern) => pattern.test(message.text()))) return
    if (message.type() === 'error' || message.type() === 'warning')
      note(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => note(`error: ${error.stack ?? error.message}`))
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url())
    const isOwn = ['data:', 'blob:'].includes(protocol) || hostname === new URL(url).hostname
    if (!isOwn) note(`request: ${request.url()}`)
  })
  t.after(async () => {
    if ('passed' in t && t.passed === false && !page.isClosed()) await keepPage(page, answers)
  })
  t.after(() => assert.deepEqual(faults, [], 'the page must cause no fault'))
}

async function keepPage(page: Page, answers: readonly string[]): Promise<void> {
  const folder = process.env['COMPUTER_TEST_LOGS']
  if (folder === undefined) return
  const name = join(folder, `page-${Date.now()}`)
  await writeFile(`${name}.txt`, [page.url(), ...answers.slice(-200)].join('\n'))
  await page.screenshot({ path: `${name}.png`, fullPage: true, timeout: 5_000 })
}
