import type { TestServer } from '../../server/test/harness.ts'

/** What an organization that works with machines looks like: for looking at pages, and for their pictures. */
export async function addSampleData({
  call,
}: Pick<Awaited<ReturnType<TestServer['signUp']>>, 'call'>) {
  const create = async (path: string, body: object) => {
    const answer = await call('POST', path, body)
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body as { id: string; name: string }
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
  await create('/v1/api-keys', { name: 'laptop', scopes: ['machines:read', 'machines:write'] })
  await create('/v1/invitations', { email: 'grace@example.com', role: 'admin' })
  return { research, checkout, idle }
}
