import type { OrganizationId } from '@computer/contract'
import { payments } from './fake-payments/controls.ts'
import { startFakeStripe } from './fake-payments/stripe.ts'
import { startTestServer, type Lifetime } from './harness.ts'

/** A server that collects payments through the fake Stripe, whose notifications reach it. */
export async function startPaidServer(
  t: Lifetime,
  options: Parameters<typeof startTestServer>[1] = {},
) {
  const fake = await startFakeStripe(t)
  const server = await startTestServer(t, { ...options, env: { ...fake.env, ...options.env } })
  const url = await server.listen()
  fake.webhooks.listenAt(new URL('/v1/billing/webhooks/stripe', url).href)
  const { db } = server.app
  const page = `${server.app.config.baseUrl}/billing`
  return {
    server,
    db,
    fake,
    page,
    people: payments(fake),
    /** An owner of an organization with the plan free. */
    async newOwner() {
      const { call, ...owner } = await server.signUp()
      const { body } = await call('GET', '/v1/auth/me')
      const organizationId = body.organization.id as OrganizationId
      const checkout = (planId: string, more: object = {}) =>
        call('POST', '/v1/billing/checkout', {
          plan_id: planId,
          success_url: `${page}?chosen=${planId}`,
          ...more,
        })
      return { ...owner, call, organizationId, checkout }
    },
    /** The row of an organization's account. */
    accountOf: (organizationId: OrganizationId) =>
      db
        .selectFrom('billing_accounts')
        .selectAll()
        .where('organization_id', '=', organizationId)
        .executeTakeFirstOrThrow(),
  }
}
