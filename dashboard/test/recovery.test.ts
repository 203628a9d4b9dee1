import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { eventually } from '../../server/test/settled.ts'
import { machineFiles } from './files-page.ts'
import { closeBrowser, openPage, startDashboard, type Dashboard } from './harness.ts'
import { createMachine } from './terminal-page.ts'

/* The ways back to work: from an old snapshot, and from a machine that has failed. */

after(closeBrowser)

test('from an old snapshot to a running fork in two clicks', async (t) => {
  const dashboard = await startDashboard(t)
  const { machine, write, read } = await createWork(dashboard)
  await write('then')
  await takeSnapshot(dashboard, machine.id, 'before the change')
  await write('now')
  const page = await openPage(t, dashboard, `/m/${machine.id}/snapshots`)

  await page.getByRole('button', { name: /^Fork from here/ }).click()
  await page.getByRole('button', { name: 'Fork', exact: true }).click()

  const fork = await openedFork(page, machine.id)
  assert.deepEqual([await read(fork), await read(machine.id)], ['then', 'now'])
})

test('a machine that failed says why and that its disk is kept, and starts again', async (t) => {
  const dashboard = await startDashboard(t)
  const { machine, write, read } = await createWork(dashboard)
  await write('kept')
  const page = await fail(t, dashboard, machine.id)
  const alert = page.getByRole('alert')
  await alert.getByText('Its disk is kept.').waitFor()
  const [event] = await events(dashboard, machine.id, 'machine.failed')
  await alert.getByText(event!.message).waitFor()

  await page.getByRole('button', { name: 'Start', exact: true }).first().click()
  await page.getByText('Running', { exact: true }).waitFor()
  await alert.waitFor({ state: 'detached' })
  assert.equal(await read(machine.id), 'kept')
})

test('a machine that failed is restored from a snapshot', async (t) => {
  const dashboard = await startDashboard(t)
  const { machine, write, read } = await createWork(dashboard)
  await write('good')
  await takeSnapshot(dashboard, machine.id, 'good')
  await write('bad')
  const page = await fail(t, dashboard, machine.id)
  await page.getByRole('alert').getByRole('link', { name: 'snapshots' }).click()
  const point = page.getByRole('listitem').filter({ hasText: 'good' })
  await point.getByRole('button', { name: /^Restore/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true }).click()
  await page.getByText('Stopped', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Start', exact: true }).first().click()
  await page.getByText('Running', { exact: true }).waitFor()
  assert.equal(await read(machine.id), 'good')
})

test('work of a machine that failed goes on in a fork of its snapshot', async (t) => {
  const dashboard = await startDashboard(t)
  const { machine, write, read } = await createWork(dashboard)
  await write('good')
  await takeSnapshot(dashboard, machine.id, 'good')
  const page = await fail(t, dashboard, machine.id)
  await page.getByRole('alert').getByRole('link', { name: 'snapshots' }).click()
  await page
    .getByRole('button', { name: /^Fork from here/ })
    .first()
    .click()
  await page.getByRole('button', { name: 'Fork', exact: true }).click()
  assert.equal(await read(await openedFork(page, machine.id)), 'good')
})

/** A running machine, and a file on its disk. */
async function createWork(dashboard: Dashboard) {
  const { owner } = dashboard
  const machine = await createMachine(dashboard, 'work')
  const files = machineFiles(dashboard, machine.id, '/home/agent')
  return {
    machine,
    write: (content: string) => files.put('file', content),
    read: (id: string) =>
      eventually(async () => {
        const route = `/v1/machines/${id}/files/content?path=/home/agent/file`
        const answer = await owner.call('GET', route)
        return answer.status === 200 ? (answer.body.content as string) : undefined
      }),
  }
}

async function takeSnapshot({ owner }: Dashboard, machineId: string, name: string): Promise<void> {
  const { body } = await owner.call('POST', '/v1/snapshots', { machine_id: machineId, name })
  await eventually(async () => {
    const answer = await owner.call('GET', `/v1/snapshots/${body.id}`)
    return answer.body.state === 'ready' || undefined
  })
}

/** Waits until the page shows another machine that runs. Returns its id. */
async function openedFork(page: Page, sourceId: string): Promise<string> {
  await page.waitForURL(
    (url) => url.pathname.startsWith('/m/mch_') && !url.pathname.includes(sourceId),
  )
  await page.getByText('Running', { exact: true }).waitFor()
  return new URL(page.url()).pathname.split('/')[2]!
}

/** Lets the next start fail, as an engine may, and opens the machine. */
async function fail(
  t: Parameters<typeof openPage>[0],
  dashboard: Dashboard,
  machineId: string,
): Promise<Page> {
  const { server, owner } = dashboard
  await owner.call('POST', `/v1/machines/${machineId}/stop?wait=60`)
  server.engine.controls.failNext('start', { times: 1, retryable: false })
  await owner.call('POST', `/v1/machines/${machineId}/start?wait=60`)
  const page = await openPage(t, dashboard, `/m/${machineId}`)
  await page.getByText('Error', { exact: true }).waitFor()
  return page
}

async function events({ owner }: Dashboard, machineId: string, type: string) {
  const { body } = await owner.call('GET', `/v1/machines/${machineId}/events?type=${type}`)
  return body.data as readonly { readonly message: string }[]
}
