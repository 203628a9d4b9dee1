import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { changeAnswers } from './answers.ts'
import { closeBrowser, openPage, startDashboard, viewports, type PageOptions } from './harness.ts'
import { assertHarmless, countShown, poison, tooWide, watchCanary } from './hostile-answers.ts'
import { hostileTexts } from './hostile-texts.ts'
import { closedEarly, follow, signedInPages, untilRead } from './pages.ts'
import { addSampleData } from './sample.ts'

/*
 * Hostile texts in every place that shows a text: nothing of them runs, becomes an element or leads
 * anywhere, they are shown as they are, and no page loses its form. The pages are watched besides (page-watch.ts):
 * a violation of the security policy, a request to another host or an error in the console fails the test.
 */

after(closeBrowser)
const dashboard = await startDashboard({ after })
const sample = await addSampleData(dashboard.owner)
const { research, webhook } = sample

/** Pages with lists, and how many of the texts they show at least. Long lists hold what is seen. */
const lists: readonly (readonly [path: string, shown: number])[] = [
  ['/', 30],
  ['/?view=list', 30],
  ['/help-requests', 190],
  ['/templates', 190],
  ['/snapshots', 190],
  ['/ports', 190],
  ['/secrets', 190],
  ['/members', 190],
  ['/keys', 190],
  ['/webhooks', 190],
  [`/webhooks/${webhook.id}`, 190],
  ['/audit', 190],
  [`/m/${research.id}/snapshots`, 190],
  [`/m/${research.id}/events?type=events`, 50],
  [`/m/${research.id}/events?type=activity`, 30],
  [`/m/${research.id}/files`, 5],
  ['/account', 0],
  ['/usage', 0],
  ['/usage?by=key', 0],
  ['/usage?by=label:team', 0],
]

test('texts of lists are only texts, at a desk and on a phone', async (t) => {
  const page = await openHostile(t)
  await poison(page, 'harmless')
  const faults: string[] = []
  for (const [path, least] of lists) {
    await show(page, path)
    for (const [name, size] of Object.entries(viewports)) {
      await page.setViewportSize(size)
      await untilRead(page)
      await assertHarmless(page, path)
      const shown = await countShown(page)
      if (shown < least) faults.push(`${path} shows ${shown} texts at the size of a ${name}`)
      const pixels = await tooWide(page)
      if (pixels > 0) faults.push(`${path} is ${pixels} pixels too wide for a ${name}`)
    }
  }
  assert.deepEqual(faults, [])
})

/** The corpus in pieces. Within one, a text cannot hide in what another has opened. */
const pieces = Array.from({ length: 2 }, (_, piece) =>
  hostileTexts.filter((_text, index) => index % 2 === piece).join(' \n'),
)

for (const [index, piece] of pieces.entries()) {
  test(`texts of one thing are only texts, on every page, ${index + 1} of ${pieces.length}`, async (t) => {
    const page = await openHostile(t)
    await poison(page, piece)
    const faults: string[] = []
    for (const { path } of signedInPages(sample)) {
      await show(page, path)
      await assertHarmless(page, path)
      const pixels = await tooWide(page)
      if (pixels > 0) faults.push(`${path} is ${pixels} pixels too wide`)
    }
    assert.deepEqual(faults, [])
  })
}

test('messages of errors are only texts', async (t) => {
  const page = await openHostile(t)
  let message = ''
  await changeAnswers(page, {
    replace: (path) => {
      if (path.endsWith('/auth/me')) return undefined
      const details = [{ field: message, message }]
      const error = { code: 'conflict', message, request_id: message, details }
      return { status: 409, json: { error } }
    },
  })
  for (const piece of pieces) {
    message = piece
    // The browser forgets the answers that had the message before.
    await page.goto('about:blank')
    for (const { path } of signedInPages(sample)) {
      await show(page, path)
      await assertHarmless(page, path)
    }
  }
})

test('parts of an address are only texts', async (t) => {
  const page = await openHostile(t)
  await show(page, '/')
  for (const text of hostileTexts.filter((one) => one.isWellFormed() && !one.includes('\0'))) {
    const value = encodeURIComponent(text.slice(0, 200))
    const way = `search=${value}&state=${value}&template=${value}&path=${value}&window=${value}&type=${value}`
    // The router reads it as it reads a link, without loading the files of the page again.
    await page.evaluate((to) => {
      history.pushState(null, '', to)
      dispatchEvent(new PopStateEvent('popstate'))
    }, `/?${way}&view=list&next=${value}`)
  }
  await assertHarmless(page, 'the list')
  for (const text of ['<img src=x onerror=canary()>', 'javascript:canary()', '//evil.example']) {
    const value = encodeURIComponent(text)
    for (const path of [
      `/login?next=${value}`,
      `/usage?window=${value}&meter=${value}&by=${value}`,
      `/usage?by=label:${value}`,
      `/audit?type=${value}`,
      `/webhooks/${value}`,
      `/webhooks/${webhook.id}?state=${value}`,
      `/m/${value}`,
      `/m/${research.id}/files?path=${value}`,
      `/snapshots?machine=${value}&state=${value}&origin=${value}`,
      `/accept-invitation#token=${value}`,
      `/reset-password#token=${value}`,
      `/welcome#token=${value}`,
      `/help#${value}`,
      `/${value}`,
    ]) {
      await page.goto('about:blank')
      await show(page, path)
      await assertHarmless(page, path)
    }
  }
})

async function openHostile(t: Parameters<typeof openPage>[0], options: PageOptions = {}) {
  const page = await openPage(t, dashboard, '/favicon.svg', {
    expectedErrors: closedEarly,
    ...options,
  })
  await watchCanary(page)
  return page
}

/** Opens a page and waits until it has read what it shows, or has failed to. */
async function show(page: Page, path: string): Promise<void> {
  await follow(page, dashboard.url + path)
  await page.locator('h1, [role=alert]').first().waitFor()
  await untilRead(page)
}
