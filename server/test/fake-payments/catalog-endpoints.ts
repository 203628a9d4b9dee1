import type Stripe from 'stripe'
import { paginate, type FakeEndpoint } from './endpoint.ts'
import { makeCustomer, makePrice } from './objects.ts'
import { page, parameters, refused } from './parameters.ts'
import { find } from './state.ts'

/** Customers, products and prices. */
export const catalogEndpoints: readonly FakeEndpoint[] = [
  {
    method: 'POST',
    path: '/v1/customers',
    parameters: parameters<Stripe.CustomerCreateParams>({
      email: 'string',
      name: 'string',
      metadata: 'metadata',
    }),
    handle(state, { email = null, name = null, metadata = {} }) {
      const customer = makeCustomer(state.newId('cus'), state.now(), { email, name, metadata })
      state.customers.set(customer.id, customer)
      return customer
    },
  },
  {
    method: 'POST',
    path: '/v1/customers/*',
    parameters: parameters<Stripe.CustomerUpdateParams>({ email: 'string', name: 'string' }),
    handle: (state, values, id) => Object.assign(find(state.customers, 'customer', id), values),
  },
  {
    method: 'GET',
    path: '/v1/products/*',
    parameters: parameters<Stripe.ProductRetrieveParams>({}),
    handle: (state, _values, id) => find(state.products, 'product', id),
  },
  {
    method: 'POST',
    path: '/v1/products',
    parameters: parameters<Stripe.ProductCreateParams>(
      { id: 'string', name: 'string', metadata: 'metadata' },
      ['name'],
    ),
    handle(state, { id = state.newId('prod'), name, metadata = {} }) {
      if (state.products.has(id)) {
        throw refused(`Product already exists: ${id}`, { code: 'resource_already_exists' })
      }
      const product: Stripe.Product = {
        id,
        object: 'product',
        active: true,
        created: state.now(),
        description: null,
        images: [],
        livemode: false,
        marketing_features: [],
        metadata,
        name,
        package_dimensions: null,
        shippable: null,
        tax_details: null,
        type: 'service',
        updated: state.now(),
        url: null,
      }
      state.products.set(id, product)
      return product
    },
  },
  {
    method: 'GET',
    path: '/v1/prices',
    parameters: parameters<Stripe.PriceListParams>({
      ...page,
      active: 'boolean',
      lookup_keys: { list: 'string' },
    }),
    handle(state, values) {
      const { active, lookup_keys: keys } = values
      const found = [...state.prices.values()].filter(
        (price) =>
          (active === undefined || price.active === active) &&
          (keys === undefined || keys.includes(price.lookup_key)),
      )
      return paginate(found, values, '/v1/prices')
    },
  },
  {
    method: 'POST',
    path: '/v1/prices',
    parameters: parameters<Stripe.PriceCreateParams>(
      {
        product: 'string',
        lookup_key: 'string',
        currency: 'string',
        unit_amount: 'integer',
        recurring: {
          object: { interval: { oneOf: ['day', 'week', 'month', 'year'] } },
          required: ['interval'],
        },
        metadata: 'metadata',
      },
      ['currency', 'product', 'unit_amount'],
    ),
    handle(state, { product, lookup_key: lookupKey = null, currency, ...values }) {
      find(state.products, 'product', product)
      if ([...state.prices.values()].some((price) => price.lookup_key === lookupKey)) {
        throw refused(
          `A price (price_1) already uses that lookup key. Pass \`transfer_lookup_key=true\` to transfer it`,
          { param: 'lookup_key' },
        )
      }
      const price = makePrice(state.newId('price'), state.now(), {
        product,
        currency,
        lookupKey,
        cents: values['unit_amount'],
        interval: values['recurring'].interval,
        metadata: values['metadata'] ?? {},
      })
      state.prices.set(price.id, price)
      return price
    },
  },
]
