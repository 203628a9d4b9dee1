import type { MachineId } from '@computer/contract'
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  activityRow,
  insertActivity,
  type NewActivity,
} from '../../server/src/domain/activity/activity.ts'
import { firstIdAt } from '../../server/src/ids.ts'
import { eventually } from '../../server/test/settled.ts'
import { violationsOf } from './axe.ts'
import { closeBrowser, startDashboard } from './harness.ts'
import { activityWords } from '../src/pages/machine/timeline/activity-types.ts'
import { assertHarmless, tooWide, watchCanary } from './hostile-answers.ts'
import { tabTo } from './keyboard.ts'
import { createAgent } from './screen-pages.ts'
import { createMachine } from './terminal-page.ts'
import { listTimeline, openTimeline } from './timeline-page.ts'

/* The timeline of a machine: its events and its activity as one list. */

after(closeBrowser)
const dashboard = await startDashboard({ after })
const { owner, server } = dashboard

test('events and activity are one list in the order of the API, however far back it is loaded', async (t) => {
  const { id, call } = await drivenMachine('both')
  let written = 0
  const write = () => call('PUT', 'clipboard', { text: 'x'.repeat(++written) })
  for (let round = 0; round < 30; round++) {
    await write()
    await owner.call('PATCH', `/v1/machines/${id}`, { metadata: { round: String(round) } })
    await write()
  }
  // Activity fills more than a page without an event between.
  while (written < 180) await write()
  for (let round = 30; round < 70; round++)
    await owner.call('PATCH', `/v1/machines/${id}`, { metadata: { round: String(round) } })
  const all = await eventually(async () => {
    const entries = await listTimeline(dashboard, id)
    return entries.filter(({ type }) => type === 'clipboard.written').length === 180
      ? entries
      : undefined
  })
  const expected = all.map(({ occurred_at, type }) => `${occurred_at} ${type}`)

  const timeline = await openTimeline(t, dashboard, id)
  await timeline.rows.first().waitFor()
  for (let loads = 0; ; loads++) {
    const shown = await timeline.shown()
    assert.deepEqual(shown, expected.slice(0, shown.length), `after ${loads} older pages`)
    if ((await timeline.beginning.count()) === 1) break
    // A refresh reads the last seconds again, and may have loaded these by itself.
    await timeline.older.evaluateAll((all) =>
      all.forEach((button) => (button as HTMLElement).click()),
    )
    await eventually(async () => (await timeline.rows.count()) > shown.length || undefined)
  }
  assert.equal(await timeline.rows.count(), expected.length)
  const texts = (await timeline.rows.allTextContents()).join('\n')
  const characters = [...texts.matchAll(/put ([\d,]+) characters?/g)].map(([, count]) =>
    Number(count),
  )
  assert.deepEqual(
    characters,
    Array.from({ length: 180 }, (_, index) => 180 - index),
  )
})

test('what is done appears by itself, also after the gateway was away, and typed text never', async (t) => {
  // A gateway that a test starts ends with it.
  const dashboard = await startDashboard(t)
  const { owner } = dashboard
  const { id, call } = await drivenMachine('live', dashboard)
  const expectedErrors = /WebSocket connection to .* failed/
  const timeline = await openTimeline(t, dashboard, id, { expectedErrors })
  await timeline.row('machine.created').waitFor()
  const reads = countReads(timeline.page, id)
  await call('POST', 'keyboard/type', { text: 'pässword😀' })
  await timeline.row(/CI key typed 9 characters/).waitFor()
  await call('POST', 'keyboard/hotkey', { keys: ['ctrl', 's'] })
  await timeline.row(/CI key pressed ctrl\+s/).waitFor()
  assert.ok(reads() < 10, `${reads()} reads`)

  await dashboard.stopGateway()
  const { body } = await owner.call('POST', `/v1/machines/${id}/exec`, {
    command: ['echo', 'hello'],
  })
  assert.equal(body.stdout, 'hello\n')
  await owner.call('PATCH', `/v1/machines/${id}`, { metadata: { round: '1' } })
  await dashboard.startGateway()
  await timeline.row(/Ada Lovelace ran echo hello as agent/).waitFor()
  await timeline.row('machine.updated').waitFor()
  const expected = (await listTimeline(dashboard, id)).map(
    ({ occurred_at, type }) => `${occurred_at} ${type}`,
  )
  await eventually(async () => (await timeline.shown()).length === expected.length || undefined)
  assert.deepEqual(await timeline.shown(), expected)
  assert.doesNotMatch(await timeline.page.content(), /ssword/)
})

test('an entry that was written late takes its place among newer ones', async (t) => {
  const { id, call } = await drivenMachine('late')
  const timeline = await openTimeline(t, dashboard, id)
  await call('PUT', 'clipboard', { text: 'x' })
  await timeline.row('put 1 character').waitFor()
  const late = entry(id, { type: 'file.written', data: { path: '/home/agent/late' } })
  // More than a page of newer entries.
  const ports = Array.from({ length: 120 }, (_, port) => ({ port, access: 'private' }))
  await write(...ports.map((data) => entry(id, { type: 'port.published', data })))
  await call('PUT', 'clipboard', { text: 'xx' })
  await timeline.row('put 2 characters').waitFor()
  await timeline.row('published port 0 ').waitFor()
  await write(late)
  await timeline.row('wrote /home/agent/late').waitFor()
  const shown = (await timeline.shown()).map((row) => row.split(' ')[1])
  const between = shown.slice(shown.indexOf('clipboard.written') + 1)
  assert.deepEqual(between.slice(0, 122), [
    ...ports.map(() => 'port.published'),
    'file.written',
    'clipboard.written',
  ])
})

test('a filter in the address shows one of the logs, or one type of one', async (t) => {
  const { id, call } = await drivenMachine('filtered')
  await call('PUT', 'clipboard', { text: 'x' })
  await owner.call('POST', `/v1/machines/${id}/exec`, { command: ['true'] })
  const timeline = await openTimeline(t, dashboard, id)
  const types = async () => new Set((await timeline.shown()).map((row) => row.split(' ')[1]))
  const showsTypes = (isRight: (types: ReadonlySet<string | undefined>) => boolean) =>
    eventually(async () => {
      const shown = await types()
      return (shown.size > 0 && isRight(shown)) || undefined
    })
  await showsTypes((shown) => shown.has('command.run') && shown.has('machine.created'))
  await timeline.show(/^Only events/)
  await timeline.page.waitForURL(/type=events$/)
  await showsTypes((shown) => !shown.has('command.run') && shown.has('machine.created'))
  await timeline.show(/^Only activity/)
  await timeline.page.waitForURL(/type=activity$/)
  await showsTypes((shown) => shown.size === 2 && shown.has('command.run'))
  await timeline.show(/^Command run/)
  await timeline.page.waitForURL(/type=command\.run$/)
  await showsTypes((shown) => shown.size === 1 && shown.has('command.run'))
  // Of another type, and then of this one: the second is shown, and the first is not.
  await call('PUT', 'clipboard', { text: 'xx' })
  await owner.call('POST', `/v1/machines/${id}/exec`, { command: ['echo', 'more'] })
  await timeline.row('ran echo more').waitFor()
  await showsTypes((shown) => shown.size === 1)
  await timeline.show(/^Created/)
  await timeline.page.waitForURL(/type=machine\.created$/)
  await showsTypes((shown) => shown.size === 1 && shown.has('machine.created'))
  await timeline.show('Everything')
  await timeline.page.waitForURL(/events$/)
  await showsTypes((shown) => shown.has('command.run') && shown.has('machine.created'))

  const empty = await openTimeline(t, dashboard, id, { type: 'secret.stored' })
  await empty.page.getByRole('heading', { name: 'No activity “Secret stored”' }).waitFor()
  await owner.call('PUT', `/v1/machines/${id}/secrets`, { name: 'TOKEN', value: 'hidden' })
  await empty.row('stored the secret TOKEN').waitFor()
})

test('a run of inputs is one row, which a key opens, and stays open while it grows', async (t) => {
  const { id, call } = await drivenMachine('clicked')
  for (let x = 0; x < 8; x++) await call('POST', 'mouse/click', { at: { x, y: 1 } })
  for (let keys = 0; keys < 4; keys++) await call('POST', 'keyboard/key', { key: 'Return' })
  for (const phone of [false, true]) {
    const timeline = await openTimeline(t, dashboard, id, { phone })
    const run = timeline.row(/CI key sent \d+ inputs: 8 clicks, \d keys/)
    const button = run.getByRole('button')
    const inputs = run.getByRole('listitem')
    await button.waitFor()
    await tabTo(timeline.page, button)
    await timeline.page.keyboard.press('Enter')
    const before = await inputs.count()
    assert.match((await button.textContent()) ?? '', new RegExp(`sent ${before} inputs`))
    assert.match((await inputs.last().textContent()) ?? '', /CI key clicked at 0, 1/)
    await call('POST', 'keyboard/key', { key: 'Return' })
    await eventually(async () => (await inputs.count()) > before || undefined)
    assert.ok(await button.evaluate((element) => element === document.activeElement))
    assert.deepEqual(await violationsOf(timeline.page, 'an open run'), [])
    assert.ok((await tooWide(timeline.page)) <= 0)
    await timeline.page.keyboard.press('Enter')
    await inputs.first().waitFor({ state: 'detached' })
  }
})

test('control that was taken, the live screen and calls that broke off are told in words', async (t) => {
  const { id } = await drivenMachine('told')
  const input = { moves: 20, clicks: 1, keys: 6, pastes: 0, resizes: 0 }
  await write(
    entry(id, { type: 'control.taken', data: { from_session_id: 'ses_x' } }),
    ...[1, 2, 3].map(() => entry(id, { type: 'viewer.input', data: input })),
    entry(id, {
      type: 'command.run',
      data: { command: 'sleep 5', user: 'root', outcome: 'unknown' },
    }),
  )
  const timeline = await openTimeline(t, dashboard, id, { type: 'activity' })
  await timeline.row('Eve took over control').waitFor()
  await timeline.row('Eve on the live screen: 60 moves, 3 clicks, 18 keys').waitFor()
  await timeline.row('Eve ran sleep 5 as root – it broke off, and may have had an effect').waitFor()
})

test('a type that the dashboard does not know, and data of any form, are text', async (t) => {
  const { id } = await drivenMachine('strange')
  const text = '<img src=x onerror=canary()>'
  const turned = `\u202e${text}`
  const types = [...Object.keys(activityWords), 'browser.navigated', 'constructor', text]
  const forms: readonly NewActivity['data'][] = [
    {},
    { at: text, button: text, keys: [text], command: { text }, user: null, path: 7, port: text },
    { text },
    { turned, long: text.repeat(400) },
    { command: turned, path: turned, from: turned, name: turned, signal: turned, user: turned },
  ]
  const by = { type: 'api_key', id: 'key_x', name: `${turned} Eve` } as const
  // A second apart: a refresh reads the last seconds again, which would load older ones by itself.
  await write(
    ...[
      ...types.flatMap((type) => forms.map((data) => entry(id, { type, data, actor: by }))),
      entry(id, { type: 'command.run', data: { command: `${'a'.repeat(199)}😀`, user: 'agent' } }),
    ].map((row, index, { length }) => ago(row, 1000 * (length - index))),
  )
  const timeline = await openTimeline(t, dashboard, id, { type: 'activity', phone: true })
  await watchCanary(timeline.page)
  await timeline.page.reload()
  await timeline.row('browser.navigated').first().waitFor()
  await timeline.older.click()
  await timeline.beginning.waitFor()
  const closed = timeline.rows.getByRole('button', { expanded: false })
  while ((await closed.count()) > 0) await closed.first().click()
  await assertHarmless(timeline.page, 'the timeline')
  assert.ok((await tooWide(timeline.page)) <= 0)
  const rows = await timeline.rows.allTextContents()
  assert.ok(rows.some((row) => row.includes(`browser.navigated {"text":"${text}"`)))
  assert.ok(rows.every((row) => row.isWellFormed()))
  const lengths = await timeline.page
    .getByRole('listitem')
    .filter({ hasNot: timeline.page.getByRole('list') })
    .evaluateAll((all) => all.map(({ textContent }) => textContent.length))
  assert.ok(Math.max(...lengths) < 800, `a row has ${Math.max(...lengths)} characters`)
  const outside = await timeline.rows.evaluateAll((all) =>
    all.filter((row) => {
      const copy = row.cloneNode(true) as Element
      for (const isolated of copy.querySelectorAll('bdi')) isolated.remove()
      return copy.textContent.includes('\u202e')
    }),
  )
  assert.equal(outside.length, 0, 'what turns the direction is isolated')
})

/** A machine, and calls of a program that holds its input lease. */
async function drivenMachine(name: string, where = dashboard) {
  const { id } = await createMachine(where, name)
  const program = await createAgent(where, id, 'CI key')
  await program.take(300)
  const call = async (...input: Parameters<typeof program.call>) => {
    const { status, body } = await program.call(...input)
    assert.ok(status < 300, JSON.stringify(body))
  }
  return { id, call }
}

const eve = { type: 'user', id: 'usr_x', name: 'Eve' } as const

function entry(
  machineId: string,
  activity: Partial<NewActivity> & Pick<NewActivity, 'type' | 'data'>,
) {
  const where = { organizationId: owner.personalId, machineId: machineId as MachineId }
  return activityRow({ ...where, actor: eve, ...activity })
}

function ago(row: ReturnType<typeof entry>, ms: number) {
  const occurredAt = new Date(row.occurred_at.getTime() - ms)
  const id = `${firstIdAt('act', occurredAt.getTime())}${row.id.slice(-16)}` as const
  return { ...row, id, occurred_at: occurredAt }
}

/** Writes entries as another process of the server does. */
async function write(...rows: readonly ReturnType<typeof entry>[]) {
  await insertActivity(server.app.db, rows)
  server.app.changes.publish(owner.personalId, 'unplaced')
}

/** How often the page has read the activity since. */
function countReads(page: Page, machineId: string): () => number {
  let reads = 0
  page.on('request', (request) => {
    if (request.url().includes(`/v1/machines/${machineId}/activity`)) reads++
  })
  return () => reads
}
