import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startComputer } from './computer.ts'

const { run, server } = await startComputer({ after })
const { id } = await server.machine({ name: 'first' })
const { desktop, disk } = server.guest(id)!

test('the desktop is clicked and typed on, and the lease is given back', async () => {
  const clicked = await run(['click', 'first', '30', '40', '--count', '2'])
  assert.equal(clicked.stdout, 'clicked at 30,40 on first\n')
  assert.equal((await run(['type', 'first', 'Grüße'])).stdout, 'typed 5 characters on first\n')
  const secret = await run(['type', 'first'], { stdin: 'not an argument' })
  assert.equal(secret.stdout, 'typed 15 characters on first\n')
  assert.equal((await run(['key', 'first', 'ctrl+l'])).stdout, 'pressed ctrl+l on first\n')
  const done = desktop.events.map(({ event }) => event)
  const click = ['press left', 'release left']
  assert.deepEqual(done.slice(0, 5), ['move 30,40', ...click, ...click])
  const typed = done.filter((event) => event.startsWith('text ')).map((event) => event.slice(5))
  assert.equal(typed.join(''), 'Grüßenot an argument')
  assert.match(done.slice(-4).join(), /^press \S+,press l,release l,release \S+$/)
  const { body } = await server.call('GET', `/v1/machines/${id}/input-lease`)
  assert.equal(body.holder, null)
})

test('a point that is no number and a key that has no name are refused', async () => {
  assert.equal((await run(['click', 'first', '-1', '2'])).code, 2)
  assert.equal((await run(['click', 'first', 'left', '2'])).code, 2)
  const key = await run(['key', 'first', 'ctrl+nonsense'])
  assert.equal(key.code, 2)
  assert.match(key.stderr, /nonsense/)
})

test('a page is opened in the browser of the machine', async () => {
  disk.write('.local/bin/chromium', '#!/bin/sh\necho "$@" > asked\n', { mode: 0o755 })
  const url = 'http://localhost:3000/'
  assert.equal((await run(['open', 'first', url])).stdout, `${url} is open on first\n`)
  assert.equal(disk.read('asked')?.toString(), `${url}\n`)
  for (const refused of ['--version-x', 'example.com'])
    assert.equal((await run(['open', 'first', '--', refused])).code, 2)
})
