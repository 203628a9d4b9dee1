import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { freePort } from '../../e2e/harness/ports.ts'
import { startPreviewServer } from '../../server/src/gateway/previews/server.ts'
import { settled } from '../../server/test/settled.ts'
import { closeBrowser, openPage, startDashboard } from './harness.ts'
import { fillSignIn } from './signing-in.ts'

after(closeBrowser)

test('a private preview asks a visitor to sign in, and opens then', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'computer-preview-'))
  t.after(() => rm(folder, { recursive: true }))
  const port = await freePort()
  const dashboard = await startDashboard(t, {
    env: {
      COMPUTER_DATA: folder,
      COMPUTER_PREVIEW_DOMAIN: 'preview.localhost',
      COMPUTER_PREVIEW_CERT: '',
      COMPUTER_PREVIEW_KEY: '',
      COMPUTER_PREVIEW_PUBLIC_PORT: String(port),
    },
  })
  const { server, owner } = dashboard
  const previews = await startPreviewServer(server.app, { ...server.app.config.previews!, port })
  t.after(() => previews.close())
  const { body: machine } = await owner.call('POST', '/v1/machines', {})
  await settled(owner, machine.id, 'running')
  const { body: preview } = await owner.call('POST', `/v1/machines/${machine.id}/ports`, {
    port: 80,
    access: 'private',
  })
  const web = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<link rel="icon" href="data:,"><h1>Seen ${request.url}</h1>`)
  })
  server.guest(machine.id).ports.listen(80, (connection) => web.emit('connection', connection))

  const page = await openPage(t, dashboard, '/login', {
    as: null,
    context: { ignoreHTTPSErrors: true },
    expectedErrors: /^request: https:\/\/\w+\.preview\.localhost:/,
  })
  await page.goto(`${preview.url}/report?a=b`)
  const asked = new URL(page.url())
  assert.equal(asked.origin + asked.pathname, `${dashboard.url}/login`)
  assert.match(asked.searchParams.get('next')!, /^\/v1\/preview-exchange\?/)
  await fillSignIn(page, owner)
  await page.waitForURL(`${preview.url}/report?a=b`)
  assert.equal(await page.textContent('h1'), 'Seen /report?a=b')
})
