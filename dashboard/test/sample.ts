import type { TestServer } from '../../server/test/harness.ts'

/** What an organization that works with machines looks like: for looking at pages, and for their pictures. */
export async function addSampleData({
  call,
}: Pick<Awaited<ReturnType<TestServer['signUp']>>, 'call'>) {
  const create = async (path: string, body: object) => {
    const answer = await call('POST', path, body)
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body as { id: string; name: string; takeover_url: string }
  }
  const research = await create('/v1/machines', {
    name: 'research-agent',
    size: 'standard',
    metadata: { task: 'market-study', team: 'growth' },
  })
  const checkout = await create('/v1/machines', {
    name: 'checkout-test',
    metadata: { team: 'shop' },
  })
  await create('/v1/machines', { name: 'invoice-bot', metadata: { team: 'finance' } })
  const idle = await create('/v1/machines', { name: 'spare', size: 'large', start: false })
  await create('/v1/snapshots', { machine_id: research.id, name: 'signed in to the shop' })
  await create('/v1/templates', {
    name: 'browser-ready',
    description: 'Chromium with the test accounts',
  })
  await call('PUT', `/v1/machines/${research.id}/secrets`, { name: 'SHOP_TOKEN', value: 'secret' })
  await create(`/v1/machines/${checkout.id}/ports`, {
    port: 3000,
    name: 'storefront',
    access: 'private',
  })
  await drive(research.id)
  await create('/v1/api-keys', { name: 'laptop', scopes: ['machines:read', 'machines:write'] })
  await create('/v1/invitations', { email: 'grace@example.com', role: 'admin' })
  // Nothing of the sample is of these types, so that address is never asked.
  await create('/v1/webhooks', {
    url: 'https://alerts.example.com/computer',
    types: ['machine.failed', 'machine.restore_failed'],
  })
  // Nobody listens there, so its delivery has failed. It is disabled before it gets an address of others.
  const webhook = await create('/v1/webhooks', {
    url: 'http://127.0.0.1:9/',
    machine_id: research.id,
  })
  await create(`/v1/webhooks/${webhook.id}/test`, {})
  await call('PATCH', `/v1/webhooks/${webhook.id}`, {
    url: 'https://reports.example.com/hooks/growth?team=research',
    enabled: false,
  })
  const answered = await create(`/v1/machines/${checkout.id}/help-requests`, {
    reason: 'approval',
    message: 'May I buy the cheapest ticket to see whether the receipt arrives?',
    choices: ['Buy it', 'Leave it'],
  })
  await create(`/v1/help-requests/${answered.id}/answer`, {
    outcome: 'done',
    choice: 'Buy it',
    text: 'But only one.',
  })
  const help = await create(`/v1/machines/${checkout.id}/help-requests`, {
    reason: 'login',
    message: 'Please sign in to the shop with the test account, and stop when the basket is shown.',
  })
  return { research, checkout, idle, webhook, help }

  /** Leaves activity: a run of inputs, and a command. */
  async function drive(id: string) {
    const { id: session_id } = await create('/v1/sessions', { machine_id: id })
    const machine = `/v1/machines/${id}`
    await create(`${machine}/input-lease`, { session_id })
    for (const x of [120, 340, 560, 780])
      await create(`${machine}/mouse/click`, { at: { x, y: 200 } })
    await create(`${machine}/keyboard/type`, { text: 'quarterly report' })
    await create(`${machine}/exec`, { command: ['echo', 'hello'] })
    await call('DELETE', `/v1/sessions/${session_id}`)
  }
}
