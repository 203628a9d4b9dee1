import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { startComputer } from './computer.ts'

const { start, server } = await startComputer({ after })
const { id } = await server.machine({ name: 'first' })

test('the viewer page is reachable from this computer only and holds no key', async () => {
  const { child, ended } = start(['view', 'first', '--no-open', '--control'])
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  const url = line.toString().trim()
  const { origin, host } = new URL(url)

  const texts = ['', 'view.js', 'novnc.js'].map(async (name) => (await fetch(url + name)).text())
  const [html, script, viewer] = await Promise.all(texts)
  assert.match(html!, /<title>first<\/title>/)
  assert.match(viewer!, /export *\{/)
  for (const text of [html, script, viewer]) assert.ok(!text!.includes(server.key))
  assert.equal((await fetch(`${origin}/`)).status, 404)

  const screen = `${url.replace('http', 'ws')}screen`
  const stranger = new WebSocket(screen, { origin: 'https://example.com' })
  await assert.rejects(once(stranger, 'open'))
  const renamed = new WebSocket(screen, { origin, headers: { host: `rebound.test:${host}` } })
  await assert.rejects(once(renamed, 'open'))
  const viewing = new WebSocket(screen, { origin })
  const greeting = await new Promise<Buffer>((resolve) =>
    viewing.on('message', (bytes: Buffer, isBinary) => isBinary && resolve(bytes)),
  )
  assert.equal(greeting.toString(), 'RFB 003.008\n')

  const lease = await server.call('GET', `/v1/machines/${id}/input-lease`)
  assert.equal(lease.body.holder.type, 'human')
  child.kill('SIGINT')
  assert.equal((await ended).code, 0)
  const released = await server.call('GET', `/v1/machines/${id}/input-lease`)
  assert.equal(released.body.holder, null)
})
