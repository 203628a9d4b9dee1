import type Stripe from 'stripe'
import type { FakeEndpoint } from './endpoint.ts'
import { makeSession } from './objects.ts'
import { parameters, refused } from './parameters.ts'
import { find } from './state.ts'

/** Pages of checkout and of the customer portal. */
export const checkoutEndpoints: readonly FakeEndpoint[] = [
  {
    method: 'POST',
    path: '/v1/checkout/sessions',
    parameters: parameters<Stripe.Checkout.SessionCreateParams>(
      {
        mode: { oneOf: ['payment', 'setup', 'subscription'] },
        customer: 'string',
        client_reference_id: 'string',
        line_items: { list: { object: { price: 'string', quantity: 'integer' } } },
        subscription_data: {
          object: {
            billing_cycle_anchor_config: {
              object: {
                day_of_month: 'integer',
                hour: 'integer',
                minute: 'integer',
                second: 'integer',
              },
              required: ['day_of_month'],
            },
            proration_behavior: { oneOf: ['create_prorations', 'none'] },
            metadata: 'metadata',
          },
        },
        success_url: 'string',
        cancel_url: 'string',
      },
      ['mode', 'success_url', 'line_items'],
    ),
    handle(state, values) {
      const { customer, success_url: successUrl, cancel_url: cancelUrl = null } = values
      find(state.customers, 'customer', customer)
      for (const url of [successUrl, cancelUrl]) {
        if (url !== null && !URL.canParse(url))
          throw refused('Not a valid URL', { code: 'url_invalid' })
      }
      const [line, ...others] = values['line_items']
      if (others.length > 0 || line?.quantity !== 1) throw refused('the fake sells one thing')
      const price = find(state.prices, 'price', line.price)
      if (!price.active) throw refused('The price specified is inactive.')
      const id = state.newId('cs_test')
      const session = makeSession(id, state.now(), {
        url: `${state.url}/pay/${id}`,
        customer,
        clientReferenceId: values['client_reference_id'] ?? null,
        amount: price.unit_amount!,
        currency: price.currency,
        successUrl,
        cancelUrl,
      })
      const { metadata = {} } = values['subscription_data'] ?? {}
      state.checkouts.set(id, { session, priceId: price.id, metadata })
      return session
    },
  },
  {
    method: 'GET',
    path: '/v1/checkout/sessions/*',
    parameters: parameters<Stripe.Checkout.SessionRetrieveParams>({}),
    handle: (state, _values, id) => find(state.checkouts, 'checkout.session', id).session,
  },
  {
    method: 'POST',
    path: '/v1/checkout/sessions/*/expire',
    parameters: parameters<Stripe.Checkout.SessionExpireParams>({}),
    handle(state, _values, id) {
      const { session } = find(state.checkouts, 'checkout.session', id)
      if (session.status !== 'open') {
        throw refused(
          `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of ${session.status}.`,
        )
      }
      return Object.assign(session, { status: 'expired', url: null })
    },
  },
  {
    method: 'POST',
    path: '/v1/billing_portal/sessions',
    parameters: parameters<Stripe.BillingPortal.SessionCreateParams>(
      { customer: 'string', return_url: 'string' },
      ['customer'],
    ),
    handle(state, { customer, return_url: returnUrl = null }) {
      find(state.customers, 'customer', customer)
      const id = state.newId('bps')
      state.portals.set(id, { customer, returnUrl })
      const session: Stripe.BillingPortal.Session = {
        id,
        object: 'billing_portal.session',
        configuration: 'bpc_fake',
        created: state.now(),
        customer,
        customer_account: null,
        flow: null,
        livemode: false,
        locale: null,
        on_behalf_of: null,
        return_url: returnUrl,
        url: `${state.url}/portal/${id}`,
      }
      return session
    },
  },
]
