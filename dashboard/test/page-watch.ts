import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import type { Lifetime } from '../../server/test/harness.ts'

const refused = 'Failed to load resource: the server responded with a status of'

/** Fails the test if the page breaks its security policy, asks another host or logs an error. */
export function watchPage(t: Lifetime, page: Page, url: string, expected?: RegExp): void {
  const faults: string[] = []
  const note = (fault: string) => {
    if (!expected?.test(fault)) faults.push(fault)
  }
  page.on('console', (message) => {
    // The browser writes every answer of 400 and above to the console; the pages show them.
    if (message.text().startsWith(refused)) return
    if (message.type() === 'error' || message.type() === 'warning')
      note(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => note(`error: ${error.stack ?? error.message}`))
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url())
    const isOwn = ['data:', 'blob:'].includes(protocol) || hostname === new URL(url).hostname
    if (!isOwn) note(`request: ${request.url()}`)
  })
  t.after(() => assert.deepEqual(faults, [], 'the page must cause no fault'))
}
