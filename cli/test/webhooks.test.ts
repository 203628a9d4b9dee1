import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../e2e/harness/polling.ts'
import { startReceiver, verify } from '../../server/test/webhook-receiver.ts'
import { startComputer } from './computer.ts'

const env = { COMPUTER_WEBHOOK_NETWORKS: '127.0.0.1' }
const { run, runOutside, start, server } = await startComputer({ after }, { env })
const { email, password } = await server.signUp()
const url = ['--url', server.baseUrl]
assert.equal(
  (await runOutside(['login', ...url, '--email', email], { stdin: `${password}\n` })).code,
  0,
)
const signedIn = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await runOutside(['webhooks', ...args])
  assert.equal(code, 0, stderr)
  return stdout
}

test('a person creates, tests, changes, rotates and deletes a webhook', async (t) => {
  const { received, url: to } = await startReceiver(t, (response, count) =>
    response.writeHead(count === 1 ? 500 : 204).end(),
  )
  const secret = (await signedIn('create', to, '--type', 'webhook.test')).trim()
  assert.match(secret, /^whsec_\S+$/, 'the secret alone')
  const [webhook] = JSON.parse(await signedIn('list', '--json'))
  assert.deepEqual([webhook.url, webhook.types, webhook.secret], [to, ['webhook.test'], null])
  assert.match(
    await signedIn('list'),
    /^ID +URL +TYPES +STATE .*\nwhk_\w+ .* webhook\.test +enabled/,
  )

  assert.match(await signedIn('test', webhook.id), /^whd_\w+ is on its way/)
  const failed = await eventually('it has failed', async () => {
    const [delivery] = JSON.parse(await signedIn('deliveries', webhook.id, '--json'))
    return delivery.last_status === 500 && delivery
  })
  assert.match(await signedIn('retry', webhook.id, failed.id), /is sent again/)
  await eventually('it is delivered', async () =>
    /\nwhd_\w+ .* 204 /.test(
      await signedIn('deliveries', webhook.id, '--state', 'delivered', '-n', '1'),
    ),
  )
  const since = new Date(0).toISOString()
  const before = received.length
  assert.equal(
    await signedIn('replay', webhook.id, '--since', since),
    '1 messages are sent again\n',
  )
  await eventually('it is replayed', async () => received.length > before)
  for (const message of received) assert.equal(verify(secret, message).data.id, failed.message_id)

  const other = (await signedIn('rotate', webhook.id)).trim()
  assert.notEqual(other, secret)
  await signedIn('update', webhook.id, '--to', `${to}/other`, '--all-types', '--disable')
  assert.match(await signedIn('get', webhook.id), /\/other\n.*all\n.*disabled: user\n/)
  assert.equal((await runOutside(['webhooks', 'test', webhook.id])).code, 6)
  await signedIn('update', webhook.id, '--enable')
  assert.match(await signedIn('delete', webhook.id, '--yes'), /is deleted/)
  assert.deepEqual(JSON.parse(await signedIn('list', '--json')), [])
})

test('an API key manages no webhooks, and options that exclude each other are refused', async () => {
  const refused = await run(['webhooks', 'create', 'https://example.com/hook'])
  assert.deepEqual([refused.code, refused.stdout], [4, ''])
  for (const more of [
    ['--enable', '--disable'],
    ['--type', 'x', '--all-types'],
  ])
    assert.equal((await runOutside(['webhooks', 'update', 'whk_x', ...more])).code, 2)
})

test('listen forwards events and activity, signed, as the API returns them', async (t) => {
  const { received, url: to } = await startReceiver(t)
  const listening = start(['webhooks', 'listen', '--forward-to', to])
  const secret = await readSecret(listening)
  const { id } = await server.machine({ start: false })
  await server.call('PATCH', `/v1/machines/${id}`, { metadata: { snake_case: 'camelCase' } })
  await server.call('PUT', `/v1/machines/${id}/secrets`, { name: 'A_NAME', value: 'a value' })
  await eventually('all have arrived', async () => {
    const types = received.map(({ type }) => type)
    return types.includes('machine.updated') && types.includes('secret.stored')
  })
  listening.child.kill('SIGTERM')
  const { stdout } = await listening.ended
  assert.match(stdout, /\d{4}-\S+Z +machine\.updated +200\n/)
  const log = async (name: string) =>
    (await server.call('GET', `/v1/machines/${id}/${name}?limit=100`)).body.data
  const entries = [...(await log('events')), ...(await log('activity'))]
  for (const message of received) {
    const { data, timestamp } = verify(secret, message)
    const entry = entries.find((one) => one.id === data.id)
    assert.deepEqual(data, entry)
    assert.deepEqual([message.headers['webhook-id'], timestamp], [entry.id, entry.occurred_at])
  }
})

/** The secret that `listen` prints once it is connected. */
function readSecret({ child }: ReturnType<typeof start>): Promise<string> {
  return new Promise((resolve) => {
    let said = ''
    child.stderr!.on('data', (bytes: Buffer) => {
      said += String(bytes)
      const secret = /Signing secret: (\S+)\n/.exec(said)?.[1]
      if (secret !== undefined) resolve(secret)
    })
  })
}
